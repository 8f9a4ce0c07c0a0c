// See system_clock.h. On x86-64 with an invariant time-stamp counter ticks are read from that. The
// first second, and a reading each second from then on, say how long a tick is (TickScale).
#include "server/system/system_clock.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "protocol/text/concat.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sluice {
namespace {

constexpr int64_t kSampleEveryMicros = 100'000;
[[maybe_unused]] constexpr int64_t kLookEveryNanos = 1'000'000;
// Between two readings of the counter around one of the clock, some 10 us at most: else the thread
// was kept off the processor, or a hypervisor stepped in, and the three are of no one moment.
[[maybe_unused]] constexpr uint64_t kReadingTicksMax = 30'000;

int64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

#if defined(__x86_64__)
bool HasInvariantTsc() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

}  // namespace

SystemClock::SystemClock(Reading reading) : goes_by_ticks_(reading == Reading::kByTicks) {
#if defined(__x86_64__)
  counts_ticks_ = HasInvariantTsc();  // under a hypervisor the question takes microseconds
#endif
  const int64_t steady_us = Nanos(CLOCK_BOOTTIME) / 1000;
  const int64_t unix_us = Nanos(CLOCK_REALTIME) / 1000;
  offset_ms_ = (unix_us - steady_us) / 1000;
  shift_us_ = unix_us - steady_us - offset_ms_ * 1000;
}

// A reading that took too long is not noted; the next one will be.
int64_t SystemClock::NoteTicks() {
#if defined(__x86_64__)
  const uint64_t before = __rdtsc();
  const int64_t now_ns = Nanos(CLOCK_MONOTONIC);
  const uint64_t after = __rdtsc();
  const bool is_known = scale_.is_known() && !scale_.IsBefore(before);
  if (!is_known && scale_.is_known()) scale_.Note({before, now_ns});
  const bool is_due = is_known || scale_.IsDue(now_ns);
  if (is_due && after - before < kReadingTicksMax)
    scale_.Note({before + (after - before) / 2, now_ns});
  return scale_.is_known() ? scale_.Nanos(after) : scale_.FromClock(now_ns);
#else
  return Nanos(CLOCK_MONOTONIC);
#endif
}

Now SystemClock::Read() {
  if (!goes_by_ticks_) return Look();
#if defined(__x86_64__)
  const uint64_t tsc = __rdtsc();
  if (scale_.is_known() && tsc >= seen_tsc_) {
    const int64_t passed_ns = TickScale::Scaled(tsc - seen_tsc_, scale_.factor());
    if (passed_ns < kLookEveryNanos) {
      Now now = seen_;
      now.steady_us += passed_ns / 1000;
      last_steady_us_ = now.steady_us;
      return now;
    }
  }
  seen_tsc_ = tsc;
#endif
  seen_ = Look();
  seen_.steady_us = std::max(seen_.steady_us, last_steady_us_);
  last_steady_us_ = seen_.steady_us;
  return seen_;
}

Now SystemClock::Look() {
  const int64_t steady_us = Nanos(CLOCK_BOOTTIME) / 1000 + shift_us_;
  if (steady_us >= next_sample_us_) {
    next_sample_us_ = steady_us + kSampleEveryMicros;
    const int64_t off_us = Nanos(CLOCK_REALTIME) / 1000 - steady_us - offset_ms_ * 1000;
    if (std::abs(off_us) >= 1000) offset_ms_ += off_us / 1000;
  }
  return {.steady_us = steady_us, .unix_offset_ms = offset_ms_};
}

int64_t SystemClock::CpuMicros() { return Nanos(CLOCK_THREAD_CPUTIME_ID) / 1000; }

int64_t SystemClock::WorkNanos() const { return Nanos(CLOCK_MONOTONIC); }

std::string SystemClock::TickSource() const {
  constexpr uint64_t kNanosPerMicro = 1000;
  if (!scale_.is_known()) return "POSIX clock_gettime";
  return Concat("X86 TSC @ ", (kNanosPerMicro << 32) / scale_.factor(), " ticks/us");
}

int64_t SystemClock::TickNanos() {
#if defined(__x86_64__)
  if (counts_ticks_) {
    const uint64_t ticks = __rdtsc();
    return scale_.Covers(ticks) ? scale_.Nanos(ticks) : NoteTicks();
  }
#endif
  return Nanos(CLOCK_MONOTONIC);
}

}  // namespace sluice
