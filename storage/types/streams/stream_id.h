// StreamId: what orders the entries of a stream. Milliseconds, then a sequence number; as text
// "1526919030474-55".
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct StreamId {
  uint64_t ms = 0;
  uint64_t seq = 0;

  static constexpr StreamId Min() { return {}; }
  static constexpr StreamId Max() {
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    return {kMax, kMax};
  }

  constexpr auto operator<=>(const StreamId&) const = default;
  constexpr bool zero() const { return ms == 0 && seq == 0; }

  // The neighbours; null beyond the ends. (Not wrapped as Redis does: its callers treat that as a
  // fault.)
  constexpr std::optional<StreamId> Next() const {
    if (*this == Max()) return std::nullopt;
    return seq == Max().seq ? StreamId{ms + 1, 0} : StreamId{ms, seq + 1};
  }
  constexpr std::optional<StreamId> Previous() const {
    if (zero()) return std::nullopt;
    return seq == 0 ? StreamId{ms - 1, Max().seq} : StreamId{ms, seq - 1};
  }

  std::string Text() const;
};

// An id as clients write it.
struct ParsedStreamId {
  StreamId id;
  bool any_sequence = false;  // "1526919030474-*": the sequence is to be chosen
};

struct StreamIdSyntax {
  uint64_t missing_sequence = 0;  // of "1526919030474" alone
  bool ends = false;              // "-" and "+" are the least and the greatest id
  bool any_sequence = false;
};

// Null when the text is no id.
std::optional<ParsedStreamId> ParseStreamId(std::string_view text, const StreamIdSyntax& syntax);

}  // namespace sluice
