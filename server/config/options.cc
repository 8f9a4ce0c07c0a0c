#include "server/config/options.h"

namespace sluice {
namespace {

bool SameName(std::string_view name, std::string_view given) {
  if (name.size() != given.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = given[i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != name[i]) return false;
  }
  return true;
}

}  // namespace

size_t OptionCount() { return ServedOptions().size() + UnservedOptions().size(); }

const Option& OptionAt(size_t index) {
  const std::span<const Option> served = ServedOptions();
  return index < served.size() ? served[index] : UnservedOptions()[index - served.size()];
}

size_t FindOption(std::string_view name) {
  const size_t count = OptionCount();
  for (size_t i = 0; i < count; ++i) {
    const Option& option = OptionAt(i);
    if (SameName(option.name, name) || (!option.alias.empty() && SameName(option.alias, name))) {
      return i;
    }
  }
  return count;
}

}  // namespace sluice
