// Clients that take, renew, break and give back locks: again and again under few owners, over
// several connections, with leases and sessions, alone, shared, by permits and for several locks at
// once. Their connections break, and their keys are deleted, overwritten, renamed, moved and
// swapped. What they are answered goes into a LockRecord, and LOCK.INFO has to tell the same.
#pragma once

#include <optional>

#include "tests/simulation/history.h"
#include "tests/simulation/lock_record.h"

namespace sluice {

class LockPlayers final : public Players {
 public:
  explicit LockPlayers(World& world);
  void Play() override;
  void Passed() override;
  void Collect() override;
  void Flushed() override;
  void Check() override;
  void End() override;

 private:
  struct Player {
    TestClient* client;
    uint64_t connection;
    std::optional<LockAsk> waits;
  };

  const std::string& AnyKey();
  std::string AnyOwner();
  Player NewPlayer() { return {&world_.server().Connect(), ++connections_, std::nullopt}; }

  LockAsk AnyAsk(const Player& player);
  void Acquire(Player& player);
  void Upgrade(Player& player, const std::string& key, const std::string& owner);
  void Downgrade(Player& player, const std::string& key, const std::string& owner);
  void Release(Player& player, const std::string& key, const std::string& owner);
  void ReleaseBoth(Player& player, const std::string& owner);
  void Renew(Player& player, const std::string& key, const std::string& owner);
  void BreakLock(Player& player, const std::string& key);
  void Hangs(Player& player);
  void Resets(Player& player);
  void LoseAKey();
  void CheckFence(Player& player, const std::string& key);

  void CheckRefusal(const LockAsk& ask, const Reply& reply);
  Reply Observe(const std::vector<std::string>& command);
  void Compare(const std::string& key);
  void CheckThatNobodyWaitsInVain();
  bool StandsAlone(const Player& player) const;

  World& world_;
  uint64_t connections_ = 0;
  std::vector<Player> players_;
  TestClient& observer_;
  LockRecord record_;
};

}  // namespace sluice
