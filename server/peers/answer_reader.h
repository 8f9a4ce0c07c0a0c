// ReadAnswer: one answer of another server: a line, a bulk, or an array of a few of these. It is
// all that servers say to each other here, and what is more is a fault: so a peer that sends a
// million values byte by byte costs no more than its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct PeerAnswer {
  bool is_error = false;
  // An array has several, a null none.
  std::vector<std::string> values;
  // The first one; "": there is none.
  std::string_view value() const { return values.empty() ? std::string_view() : values.front(); }
};

struct AnswerReading {
  enum class State : uint8_t { kWhole, kIncomplete, kFault };
  State state = State::kIncomplete;
  size_t bytes = 0;  // of kWhole
  PeerAnswer answer;
};

inline constexpr size_t kAnswerLineBytesMax = 4096;
inline constexpr size_t kAnswerValuesMax = 8;

// At the start of these; a bulk of more than `bulk_bytes_max` is a fault.
AnswerReading ReadAnswer(std::string_view bytes, size_t bulk_bytes_max);

}  // namespace sluice
