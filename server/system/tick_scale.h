// TickScale: what the ticks of a counter (the processor's) are in ns of the steady clock. It is
// fed with readings of both at one moment, and draws a line from each to the next:
//
//   the first second      there is no line yet: the clock itself is asked (FromClock)
//   from then on          Nanos(ticks); a reading a second sets how steep the line goes on
//
// Answers never go back. Where the line had come to lie ahead of the clock it goes on less steeply;
// where it lay behind, it jumps. A second in which the counter ran otherwise than before (the
// machine slept, or was moved to another one) begins the measurement anew.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

class TickScale {
 public:
  struct Reading {
    uint64_t ticks;
    int64_t ns;
  };
  static constexpr int64_t kSecond = 1'000'000'000;

  bool is_known() const { return factor_ != 0; }
  // The line holds for this moment; if not, it wants a reading.
  bool Covers(uint64_t ticks) const { return ticks - line_.ticks < ticks_covered_; }
  // Whether a reading of this moment of the clock would say anything. Requires: not known yet.
  bool IsDue(int64_t ns) const { return !has_begun_ || ns - last_.ns >= kSecond; }
  // Requires: is_known(), and ticks are not before the last reading.
  int64_t Nanos(uint64_t ticks) const { return line_.ns + Scaled(ticks - line_.ticks, factor_); }
  int64_t FromClock(int64_t ns) const { return ns + ahead_ns_; }
  bool IsBefore(uint64_t ticks) const { return ticks < line_.ticks; }

  void Note(const Reading& reading) {
    if (!has_begun_) return Begin(reading);
    const int64_t passed_ns = reading.ns - last_.ns;
    if (reading.ticks <= last_.ticks || passed_ns <= 0) return Begin(reading);
    if (passed_ns < kSecond) return;
    const auto passed = static_cast<unsigned __int128>(passed_ns);
    const auto rate = static_cast<uint64_t>((passed << 32) / (reading.ticks - last_.ticks));
    if (rate == 0 || (is_known() && Differ(rate, rate_))) return Begin(reading);
    GoOn(reading, rate);
  }

  uint64_t factor() const { return factor_; }  // ns a tick, 32.32 fixed point; 0: not known
  static int64_t Scaled(uint64_t ticks, uint64_t factor) {
    return static_cast<int64_t>((static_cast<unsigned __int128>(ticks) * factor) >> 32);
  }

 private:
  // NTP slews a clock by at most 1/2000.
  static bool Differ(uint64_t a, uint64_t b) { return (a > b ? a - b : b - a) > b / 1000; }

  void Begin(const Reading& reading) {
    if (is_known() && reading.ticks > line_.ticks)
      ahead_ns_ += std::max<int64_t>(0, Nanos(reading.ticks) - FromClock(reading.ns));
    has_begun_ = true;
    last_ = reading;
    factor_ = ticks_covered_ = 0;
  }

  void GoOn(const Reading& reading, uint64_t rate) {
    const int64_t clock_ns = FromClock(reading.ns);
    const int64_t ahead_ns = is_known() ? Nanos(reading.ticks) - clock_ns : 0;
    last_ = reading;
    line_ = {reading.ticks, clock_ns + std::max<int64_t>(0, ahead_ns)};
    rate_ = factor_ = rate;
    // It loses in the next second what it is ahead.
    if (ahead_ns > 0)
      factor_ -= static_cast<uint64_t>(static_cast<__int128>(rate) *
                                       std::min(ahead_ns, kSecond / 2) / kSecond);
    ticks_covered_ = static_cast<uint64_t>((static_cast<unsigned __int128>(kSecond) << 32) / rate);
  }

  bool has_begun_ = false;
  Reading last_{};       // of the last second's end
  Reading line_{};       // where it begins
  uint64_t factor_ = 0;  // of the line
  uint64_t rate_ = 0;    // as measured
  uint64_t ticks_covered_ = 0;
  int64_t ahead_ns_ = 0;  // so much later than the clock's are the answers
};

}  // namespace sluice
