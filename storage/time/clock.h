// Time, as everything below server/net sees it: handed in, never asked for.
//
// Engine time is steady: milliseconds and microseconds since some moment before the start, which no
// NTP step moves. Wall time is engine time plus a sampled offset in whole milliseconds; the clock
// chooses its origin so that at the start the offset has no fraction, and so both agree to the
// microsecond. Relative deadlines live on engine time; absolute ones (EXAT, PXAT, EXPIREAT) are
// kept as Unix times and follow the offset.
//
// A server that has loaded a log goes on with the engine time of the one that wrote it: Shift. One
// that follows another shows that one's wall time too, as the two have one engine time: moments
// that are relative are then the same Unix times on both (ShowUnixOffset).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

// One sampled instant. A handler, and a script with all its calls, see one and the same.
struct Now {
  int64_t steady_us = 0;
  int64_t unix_offset_ms = 0;

  int64_t ms() const { return steady_us / 1000; }
  int64_t unix_ms() const { return ms() + unix_offset_ms; }
  int64_t unix_us() const { return steady_us + unix_offset_ms * 1000; }
  int64_t unix_s() const { return unix_ms() / 1000; }
};

class Clock {
 public:
  virtual ~Clock() = default;
  Now Sample() {
    Now now = Read();
    now.steady_us += shift_ms_ * 1000;
    now.unix_offset_ms -= shift_ms_;
    if (shown_offset_ms_) [[unlikely]] {
      skew_ms_ = now.unix_offset_ms - *shown_offset_ms_;
      now.unix_offset_ms = *shown_offset_ms_;
    }
    return now;
  }
  // Engine time is so much later from now on, and before when negative; Unix time is as it was.
  void Shift(int64_t ms) { shift_ms_ += ms; }
  int64_t shift_ms() const { return shift_ms_; }  // of all calls: engine time less Read's
  // From now on samples have this offset of Unix time to engine time, another server's; or, null,
  // the machine's own again.
  void ShowUnixOffset(std::optional<int64_t> ms) {
    shown_offset_ms_ = ms;
    skew_ms_ = 0;  // until the next sample
  }
  // By how much the machine's Unix time is later than that of the last sample.
  int64_t skew_ms() const { return skew_ms_; }
  // CPU time of the calling thread in µs, for the histogram of turns; 0 where there is none.
  virtual int64_t CpuMicros() { return 0; }
  // A cheap tick for measuring how long commands take, in ns from any origin.
  virtual int64_t TickNanos() = 0;
  // Where that comes from, in Redis's words ("POSIX clock_gettime").
  virtual std::string TickSource() const { return "none"; }
  // As ticks, dearer, and on any thread: how long work beside the engine takes. 0 where there are
  // none.
  virtual int64_t WorkNanos() const { return 0; }

 protected:
  // Without a shift: the same steady time in all processes of a boot, to the millisecond.
  virtual Now Read() = 0;

 private:
  int64_t shift_ms_ = 0;
  std::optional<int64_t> shown_offset_ms_;
  int64_t skew_ms_ = 0;
};

}  // namespace sluice
