// See system_clock.h. On x86-64 with an invariant time-stamp counter ticks are read from that,
// calibrated once against CLOCK_MONOTONIC, while requests are served.
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
constexpr int64_t kCalibrationNanos = 200'000;
[[maybe_unused]] constexpr uint64_t kLookEveryNanos = 1'000'000;

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
  const int64_t steady_us = Nanos(CLOCK_BOOTTIME) / 1000;
  const int64_t unix_us = Nanos(CLOCK_REALTIME) / 1000;
  offset_ms_ = (unix_us - steady_us) / 1000;
  shift_us_ = unix_us - steady_us - offset_ms_ * 1000;
  BeginCalibration();
}

void SystemClock::BeginCalibration() {
#if defined(__x86_64__)
  calibrates_ = true;
  calibrated_from_ns_ = Nanos(CLOCK_MONOTONIC);
  tsc_origin_ = __rdtsc();
#endif
}

// Ticks go on from what CLOCK_MONOTONIC has said until then.
void SystemClock::Calibrate([[maybe_unused]] int64_t now_ns) {
#if defined(__x86_64__)
  if (now_ns - calibrated_from_ns_ < kCalibrationNanos) return;
  calibrates_ = false;
  if (!HasInvariantTsc()) return;  // under a hypervisor the question takes microseconds
  const uint64_t tsc = __rdtsc();
  const auto passed_ns = static_cast<unsigned __int128>(now_ns - calibrated_from_ns_);
  tsc_factor_ = static_cast<uint64_t>((passed_ns << 32) / (tsc - tsc_origin_));
  tsc_origin_ = tsc;
  calibrated_from_ns_ = now_ns;
#endif
}

Now SystemClock::Read() {
  if (!goes_by_ticks_) return Look();
#if defined(__x86_64__)
  const uint64_t tsc = __rdtsc();
  if (tsc_factor_ != 0) {
    const auto passed =
        (static_cast<unsigned __int128>(tsc - seen_tsc_) * tsc_factor_) >> 32;  // ns
    if (passed < kLookEveryNanos) {
      Now now = seen_;
      now.steady_us += static_cast<int64_t>(passed) / 1000;
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

std::string SystemClock::TickSource() const {
  constexpr uint64_t kNanosPerMicro = 1000;
  if (tsc_factor_ == 0) return "POSIX clock_gettime";
  return Concat("X86 TSC @ ", (kNanosPerMicro << 32) / tsc_factor_, " ticks/us");
}

int64_t SystemClock::TickNanos() {
#if defined(__x86_64__)
  if (tsc_factor_ != 0) {
    const uint64_t ticks = __rdtsc() - tsc_origin_;
    return calibrated_from_ns_ +
           static_cast<int64_t>((static_cast<unsigned __int128>(ticks) * tsc_factor_) >> 32);
  }
#endif
  const int64_t now_ns = Nanos(CLOCK_MONOTONIC);
  if (calibrates_) Calibrate(now_ns);
  return now_ns;
}

}  // namespace sluice
