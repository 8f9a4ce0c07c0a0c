// Timeline: true time, which no machine's clock shows, and what happens in it. One thread, one
// seed: events run one after the other in order of their moments, those of one moment in the order
// in which they were planned.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "tests/simulation/random_commands.h"

namespace sluice::cluster {

inline constexpr int64_t kMs = 1000;  // in µs, as all moments and spans here
inline constexpr int64_t kSecond = 1000 * kMs;

class Timeline {
 public:
  using Event = std::function<void()>;
  explicit Timeline(uint64_t seed) : random_(seed) {}

  int64_t now() const { return now_; }
  SimulationRandom& random() { return random_; }
  int64_t Pick(int64_t low, int64_t high) { return Between(random_, low, high); }
  bool OneIn(int64_t n) { return Pick(1, n) == 1; }
  // Short spans are as likely as long ones: the exponent is drawn.
  int64_t PickSpan(int64_t low, int64_t high);

  void At(int64_t moment, Event event);
  void After(int64_t span, Event event) { At(now_ + span, std::move(event)); }
  // Runs all events up to there.
  void RunUntil(int64_t moment);

  // Notes what was done to whom, for the reader of a failure.
  void Tell(const std::string& what);
  // The last lines of it, each with its moment.
  std::string Told() const;
  uint64_t events() const { return run_; }

 private:
  struct Planned {
    int64_t moment;
    uint64_t number;
    Event event;
  };
  struct IsLater {
    bool operator()(const Planned& one, const Planned& other) const {
      return one.moment != other.moment ? one.moment > other.moment : one.number > other.number;
    }
  };

  SimulationRandom random_;
  int64_t now_ = 0;
  uint64_t last_number_ = 0;
  uint64_t run_ = 0;
  std::priority_queue<Planned, std::vector<Planned>, IsLater> planned_;
  std::vector<std::string> told_;
};

}  // namespace sluice::cluster
