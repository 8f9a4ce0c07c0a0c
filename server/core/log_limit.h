// LogLimit: keeps a peer from filling the log. So many lines of one kind are written a second, as
// the first tell what there is to know; those that were left out are counted, and the next line
// that is written says how many.
//
//   if (const std::optional<uint64_t> left_out = limit.Admit(now_ms)) Log(...)
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice {

class LogLimit {
 public:
  static constexpr int kLinesASecond = 10;

  // Whether a line may be written at this moment, which may lie before the last one; how many were
  // left out since the last that was. Null: it may not.
  std::optional<uint64_t> Admit(int64_t now_ms) {
    if (now_ms < begun_ms_ || now_ms - begun_ms_ >= kSecondMs) {
      begun_ms_ = now_ms;
      lines_ = 0;
    }
    if (lines_ == kLinesASecond) return ++left_out_, std::nullopt;
    ++lines_;
    return std::exchange(left_out_, 0);
  }

 private:
  static constexpr int64_t kSecondMs = 1000;

  int64_t begun_ms_ = 0;  // of the second that counts
  int lines_ = 0;         // in it
  uint64_t left_out_ = 0;
};

}  // namespace sluice
