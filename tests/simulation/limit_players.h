// Clients that take from limits of every kind, with numbers that change between calls, costs,
// peeks, bans, shadows, waits, refunds, several limits at once and named ones; and that count in
// leaky buckets, or ask CL.THROTTLE where the clock is even. Every answer has to be that of an
// exact model (limit_model.h), and a refusal must leave no trace: the WATCH of another client does
// not fail by it.
#pragma once

#include <deque>
#include <map>

#include "tests/simulation/history.h"
#include "tests/simulation/limit_model.h"

namespace sluice {

class LimitPlayers final : public Players {
 public:
  explicit LimitPlayers(World& world);
  void Play() override;
  void Passed() override;
  void Flushed() override;
  void Check() override {}
  void End() override;
  // The server was started again and has what it had: all players connect anew, and none waits.
  void Restarted();

 private:
  struct Ask {
    LimitNumbers numbers;
    bool policy = false;  // its numbers are those of the algorithm's policy
    int64_t cost = 1;
    int64_t ban_ms = 0;  // when it has waited in vain
  };
  struct Player {
    TestClient* client = nullptr;
    bool waits = false;
  };
  struct Waiter {
    Player* player;
    Ask ask;
    int64_t deadline_ms;
  };
  struct Limit {
    std::string key;
    LimitNumbers usual;
    LimitNumbers policy;
    LimitModel model;
    std::deque<Waiter> waiters;
  };

  Limit MakeLimit(LimitNumbers::Algorithm algorithm);
  Limit& AnyLimit();
  LimitNumbers AnyNumbers(LimitNumbers::Algorithm algorithm);
  LimitNumbers AnyThrottle();
  Ask AnyAsk(const Limit& limit);
  LimitModel::Moment Now();
  Player NewPlayer();

  // What a request with an ID was answered.
  struct Answered {
    std::string key;
    int64_t cost;
    LimitSaid said;
    int64_t at_ms;
    int64_t for_ms;
  };

  void Take(Player& player, Limit& limit);
  void TakeOnce(Player& player, Limit& limit);
  void Wait(Player& player, Limit& limit);
  void TakeWatched(Player& player, Limit& limit);
  void TakeSeveral(Player& player, Limit& one, Limit& other);
  void Refund(Player& player, Limit& limit);
  void LookAt(Player& player, Limit& limit);
  void ChangePolicy(Player& player, Limit& limit);
  void Delete(Player& player, Limit& limit);
  void HangUp(Player& player);
  void CountInBucket(Player& player);
  void Throttle(Player& player);
  void PassMicros();

  void Serve(Limit& limit);
  void ServeAll();
  bool IsTimeOut(const LimitSaid& said, const std::vector<LimitModel>& states,
                 const LimitNumbers& numbers, const Ask& ask);

  World& world_;
  std::vector<Limit> limits_;
  std::deque<Player> players_;
  TestClient* watcher_ = nullptr;
  std::map<std::string, Answered> answered_;  // by id
  std::vector<int64_t> bucket_;               // when each unit drains, in ms
  const LimitNumbers throttled_;
  LimitModel throttle_;
};

}  // namespace sluice
