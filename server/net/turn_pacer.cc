#include "server/net/turn_pacer.h"

#include <sys/prctl.h>
#include <time.h>

namespace sluice {

// By default the kernel may make every sleep 50 µs longer.
TurnPacer::TurnPacer() { prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0); }

void TurnPacer::TurnBegins(int64_t now_ns) {
  const int64_t age_ns = now_ns - window_begin_ns_;
  if (age_ns >= kWindowNanos) {
    // A window that ended long ago says nothing about now.
    resting_ = age_ns < 2 * kWindowNanos && clients_ >= kClientsMin && turns_ >= kTurnsMin;
    window_begin_ns_ = now_ns;
    ++window_;
    clients_ = turns_ = 0;
  }
  ++turns_;
}

void TurnPacer::Rest(int64_t now_ns) {
  if (!resting_ || now_ns - window_begin_ns_ >= 2 * kWindowNanos) return;
  const timespec rest{.tv_sec = 0, .tv_nsec = kRestMicros * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, nullptr);
}

}  // namespace sluice
