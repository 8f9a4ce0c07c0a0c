// TurnPacer: lets requests gather when many clients send small ones faster than a turn each is worth,
// as network cards moderate their interrupts. With one or two requests a turn, half of the CPU goes into
// waking up; resting kRestMicros before the next wait makes turns of five.
//
// It rests only while kClientsMin different clients were served within a millisecond, in many turns. A
// few clients, each waiting for its answer before it asks again, never see it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

class TurnPacer {
 public:
  static constexpr int64_t kRestMicros = 25;

  TurnPacer();

  void TurnBegins(int64_t now_ns);
  // A client is read in this turn; `window` is its own memory of when it was counted last.
  void Reads(uint64_t& window) {
    clients_ += window != window_;
    window = window_;
  }
  // After a turn that left no work behind: sleeps, if it pays.
  void Rest(int64_t now_ns);

 private:
  static constexpr int64_t kWindowNanos = 1'000'000;
  static constexpr size_t kClientsMin = 16;
  static constexpr size_t kTurnsMin = 8;  // in a window; with fewer they are large already

  uint64_t window_ = 1;
  int64_t window_begin_ns_ = 0;
  size_t clients_ = 0;
  size_t turns_ = 0;
  bool resting_ = false;
};

}  // namespace sluice
