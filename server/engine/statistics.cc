#include "server/engine/statistics.h"

namespace sluice {

void Statistics::CountError(std::string_view text) {
  ++error_replies;
  const std::string_view code = text.substr(0, text.find(' '));
  if (const auto found = errors.find(code); found != errors.end()) {
    ++found->second;
  } else if (errors.size() < kErrorCodesMax) {
    errors.emplace(code, 1);
  }
}

}  // namespace sluice
