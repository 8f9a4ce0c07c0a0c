// SyncPlace: where the next sync of the log is made, by the worker or in place, on the loop.
//
// A sync by the worker takes two wake-ups of threads, there and back: more CPU than a command, and
// more time than a fast disk needs. So a sync is made in place where it is likely to be over
// sooner, by what the syncs before took, those of the worker, too:
//
//   fewer than kFastOfLast of the last kLast took kFastNanos at most   by the worker
//   as many did                                                        in place
//   one in place took more than kSlowNanos             by the worker, for PauseAfter
//
// The many count, and not the mean: where all processors are busy, a thread that has slept through
// its sync may wait long for one. So a slow disk has all of its syncs made by the worker. For one
// that is slow at times the loop waits beyond kSlowNanos a thirtieth of the time at most, and less
// the slower it is then: an eightieth where it takes 1 ms, a thousandth where it takes 10 ms.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sluice {

class SyncPlace {
 public:
  // A sync that takes no longer is fast.
  static constexpr int64_t kFastNanos = 100'000;
  static constexpr int kLast = 32;
  static constexpr int kFastOfLast = 20;
  // The loop is to wait no longer for the disk.
  static constexpr int64_t kSlowNanos = 200'000;
  // After one that took longer the next ones are the worker's: for kPause times what was too long,
  // times took_ns / kSlowNanos.
  static constexpr int64_t kPause = 20;
  static constexpr int64_t PauseAfter(int64_t took_ns) {
    const int64_t counted_ns = std::min(took_ns, kCountedNanos);  // its square is an int64
    return kPause * ((counted_ns - kSlowNanos) * counted_ns / kSlowNanos);
  }
  static constexpr int64_t kCountedNanos = 50'000'000;  // so it is four minutes at most
  // What syncs took before that says nothing of the next one.
  static constexpr int64_t kRecentNanos = 1'000'000'000;
  // More is not written and synced in place: it may take longer than what was measured.
  static constexpr uint64_t kBytesMax = 64 * 1024;

  // A sync of `bytes` may be made in place at this moment.
  bool IsHere(uint64_t bytes, int64_t now_ns) const {
    return std::popcount(fast_) >= kFastOfLast && bytes <= kBytesMax &&
           now_ns >= paused_until_ns_ && now_ns - ended_ns_ <= kRecentNanos;
  }
  // A sync has ended just now, having taken so long; 0: nobody knows how long.
  void Ended(bool in_place, int64_t took_ns, int64_t now_ns) {
    if (now_ns - ended_ns_ > kRecentNanos) fast_ = 0;
    const bool is_fast = took_ns > 0 && took_ns <= kFastNanos;
    fast_ = fast_ << 1 | (is_fast ? 1 : 0);
    ended_ns_ = now_ns;
    if (in_place && took_ns > kSlowNanos) paused_until_ns_ = now_ns + PauseAfter(took_ns);
  }

 private:
  uint32_t fast_ = 0;  // a bit for each of the last kLast, the newest in the lowest
  static_assert(kLast == 32);
  int64_t ended_ns_ = 0;
  int64_t paused_until_ns_ = 0;
};

}  // namespace sluice
