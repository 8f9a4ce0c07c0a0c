// See stream_id.h.
#include "storage/types/streams/stream_id.h"

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr size_t kIdTextMax = 127;  // Redis's buffer; leading zeros and spaces may fill it

}  // namespace

std::string StreamId::Text() const { return Concat(ms, '-', seq); }

// Like Redis's C strings, the text ends at its first zero byte.
std::optional<ParsedStreamId> ParseStreamId(std::string_view text, const StreamIdSyntax& syntax) {
  if (text.size() > kIdTextMax) return std::nullopt;
  text = text.substr(0, text.find('\0'));
  if (text == "-" || text == "+") {
    if (!syntax.ends) return std::nullopt;
    return ParsedStreamId{text == "-" ? StreamId::Min() : StreamId::Max()};
  }
  const size_t dash = text.find('-');
  const std::optional<uint64_t> ms = ParseUint64(text.substr(0, dash));
  if (!ms) return std::nullopt;
  if (dash == std::string_view::npos) return ParsedStreamId{{*ms, syntax.missing_sequence}};
  const std::string_view rest = text.substr(dash + 1);
  if (syntax.any_sequence && rest == "*") return ParsedStreamId{{*ms, 0}, true};
  const std::optional<uint64_t> seq = ParseUint64(rest);
  if (!seq) return std::nullopt;
  return ParsedStreamId{{*ms, *seq}};
}

}  // namespace sluice
