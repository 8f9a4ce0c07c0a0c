// TimeSource: where a database gets the time from. Without one it is the system's; a host program
// that has a time of its own (a simulator, a test, a game loop) hands it in.
//
//   sluice::ManualTime time;
//   auto db = sluice::Database::Open({.time = &time}, fault);
//   db->RunUntil(time.Now() + std::chrono::minutes(1));   // a minute passes, deadline by deadline
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {
inline namespace v1 {

// A moment of a database, counted from an origin that means nothing. Only differences do.
using Time = std::chrono::microseconds;

class TimeSource {
 public:
  virtual ~TimeSource() = default;
  // Never goes back, and no step of the wall clock moves it: leases, limits and waits live on it.
  virtual Time Steady() = 0;
  // Since 1970: what EXPIREAT, TIME and tokens go by. It may step.
  virtual std::chrono::microseconds Unix() = 0;
  // RunUntil asks for that moment. A source that runs by itself answers false, and time passes; one
  // that is moved by hand moves there and answers true. Called with moments that are later than
  // Steady().
  virtual bool MoveTo(Time moment) {
    static_cast<void>(moment);
    return false;
  }
  // Whether it stands still until it is moved: a call then waits for the rules of a time zone that
  // a busy disk gives late, instead of answering -TRYAGAIN.
  virtual bool IsManual() const { return false; }
};

// Time that stands still until the program moves it. It may serve several databases; it outlives
// them.
class ManualTime final : public TimeSource {
 public:
  explicit ManualTime(std::chrono::microseconds unix_at_start = std::chrono::seconds(1'700'000'000))
      : wall_ahead_(unix_at_start) {}
  Time Now() const { return now_; }
  // Forwards. Database::RunUntil stops at every deadline on its way; this jumps, and what was due
  // on the way happens at the end of the jump.
  void Advance(std::chrono::microseconds by) { now_ += by; }
  // The wall clock alone, as NTP or `date -s` steps it.
  void StepWall(std::chrono::microseconds by) { wall_ahead_ += by; }

  Time Steady() override { return now_; }
  std::chrono::microseconds Unix() override { return now_ + wall_ahead_; }
  bool IsManual() const override { return true; }
  bool MoveTo(Time moment) override {
    now_ = moment;
    return true;
  }

 private:
  Time now_{0};
  std::chrono::microseconds wall_ahead_;
};

}  // namespace v1
}  // namespace sluice
