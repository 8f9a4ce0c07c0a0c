// See lock_players.h.
#include "tests/simulation/lock_players.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr int kPlayers = 6;
const std::vector<std::string> kPlayedKeys = {"a", "b", "c"};
constexpr int64_t kRenewMs = 20;
constexpr int64_t kRetryMs = 101;  // until a server that could not write its mark tries again

std::vector<std::string> CommandOf(const LockAsk& ask, int64_t wait_ms) {
  std::vector<std::string> command{ask.several ? "LOCK.MACQUIRE" : "LOCK.ACQUIRE"};
  if (ask.several) command.push_back(std::to_string(ask.keys.size()));
  command.insert(command.end(), ask.keys.begin(), ask.keys.end());
  command.push_back(ask.owner);
  if (ask.connection != 0) command.push_back("SESSION");
  const auto add = [&command](const char* option, int64_t value) {
    command.insert(command.end(), {option, std::to_string(value)});
  };
  if (ask.lease_ms > 0) add("LEASE", ask.lease_ms);
  if (wait_ms > 0) add("WAIT", wait_ms);
  if (ask.mode == LockAsk::Mode::kShared) command.push_back("SHARED");
  if (ask.mode == LockAsk::Mode::kPermits) {
    add("PERMITS", ask.permits);
    add("OF", kPermitsInRecord);
  }
  return command;
}

}  // namespace

LockPlayers::LockPlayers(World& world) : world_(world), observer_(world.server().Connect()) {
  for (int i = 0; i < kPlayers; ++i) players_.push_back(NewPlayer());
}

const std::string& LockPlayers::AnyKey() {
  return kPlayedKeys[static_cast<size_t>(world_.Pick(0, 2))];
}

std::string LockPlayers::AnyOwner() {
  return std::string(1, static_cast<char>('p' + world_.Pick(0, 3)));
}

void LockPlayers::Play() {
  Player& player = players_[static_cast<size_t>(world_.Pick(0, kPlayers - 1))];
  const int64_t what = world_.Pick(0, 99);
  if (what < 8) {
    Hangs(player);
  } else if (what < 15) {
    LoseAKey();
  } else if (player.waits) {
    return;
  } else if (what < 56) {
    Acquire(player);
  } else if (what < 61) {
    Upgrade(player, AnyKey(), AnyOwner());
  } else if (what < 65) {
    Downgrade(player, AnyKey(), AnyOwner());
  } else if (what < 80) {
    Release(player, AnyKey(), AnyOwner());
  } else if (what < 83) {
    ReleaseBoth(player, AnyOwner());
  } else if (what < 89) {
    Renew(player, AnyKey(), AnyOwner());
  } else if (what < 92) {
    Resets(player);
  } else if (what < 95) {
    BreakLock(player, AnyKey());
  } else {
    CheckFence(player, AnyKey());
  }
  // Whatever was run, waiters may have got something in the same turn.
  Collect();
}

void LockPlayers::Passed() {
  record_.PassedTo(world_.now_ms());
  Collect();
}

void LockPlayers::Flushed() {
  record_.Flushed();
  Collect();
}

void LockPlayers::Check() {
  for (const std::string& key : kPlayedKeys) Compare(key);
  CheckThatNobodyWaitsInVain();
}

void LockPlayers::End() {
  for (const Player& player : players_) EXPECT_FALSE(player.waits) << "a waiter was forgotten";
  for (Player& player : players_) Hangs(player);
  for (const std::string& key : kPlayedKeys) {
    EXPECT_TRUE(record_.Of(key).empty());
    EXPECT_TRUE(Observe({"LOCK.INFO", key}).elements.empty()) << key << " has no holder";
  }
}

// --- what they do

LockAsk LockPlayers::AnyAsk(const Player& player) {
  LockAsk ask{.owner = AnyOwner(), .keys = {AnyKey()}};
  ask.several = world_.OneIn(6);
  if (ask.several) ask.keys = {"a", "b"};
  if (world_.OneIn(3)) ask.connection = player.connection;
  if (ask.connection == 0 || world_.OneIn(3)) ask.lease_ms = world_.Pick(1, 25);
  const int64_t mode = world_.Pick(0, 7);
  if (mode < 2) ask.mode = LockAsk::Mode::kShared;
  if (mode == 2 && !ask.several) {
    ask.mode = LockAsk::Mode::kPermits;
    ask.permits = world_.Pick(1, 2);
  }
  return ask;
}

void LockPlayers::Acquire(Player& player) {
  const LockAsk ask = AnyAsk(player);
  const int64_t wait_ms = world_.OneIn(3) ? 0 : world_.Pick(1, world_.OneIn(3) ? 400 : 60);
  player.client->Send(CommandOf(ask, wait_ms));
  player.waits = ask;
}

void LockPlayers::Upgrade(Player& player, const std::string& key, const std::string& owner) {
  std::vector<std::string> command{"LOCK.UPGRADE", key, owner};
  if (world_.OneIn(2)) command.insert(command.end(), {"WAIT", std::to_string(world_.Pick(1, 60))});
  player.client->Send(command);
  player.waits = LockAsk{.owner = owner, .keys = {key}, .upgrades = true};
}

void LockPlayers::Downgrade(Player& player, const std::string& key, const std::string& owner) {
  player.client->Send({"LOCK.DOWNGRADE", key, owner});
  player.waits = LockAsk{.owner = owner, .keys = {key}, .downgrades = true};
}

void LockPlayers::Release(Player& player, const std::string& key, const std::string& owner) {
  const bool all = world_.OneIn(3);
  std::vector<std::string> command{"LOCK.RELEASE", key, owner};
  if (all) command.push_back("ALL");
  const Reply reply = player.client->Run(command);
  ASSERT_EQ(record_.Find(key, owner) != nullptr, reply.kind == Reply::Kind::kInteger)
      << key << " of " << owner << ": " << reply.ToText();
  if (reply.kind == Reply::Kind::kInteger) {
    EXPECT_EQ(reply.integer, record_.Released(key, owner, all));
  }
}

void LockPlayers::ReleaseBoth(Player& player, const std::string& owner) {
  int64_t held = 0;
  for (const char* key : {"a", "b"}) {
    if (!record_.Find(key, owner)) continue;
    record_.Released(key, owner, false);
    ++held;
  }
  EXPECT_EQ(player.client->Run({"LOCK.MRELEASE", "2", "a", "b", owner}).integer, held);
}

void LockPlayers::Renew(Player& player, const std::string& key, const std::string& owner) {
  const Reply reply =
      player.client->Run({"LOCK.RENEW", key, owner, "LEASE", std::to_string(kRenewMs)});
  const bool held = record_.Find(key, owner) != nullptr;
  ASSERT_EQ(held, reply.kind == Reply::Kind::kInteger) << reply.ToText();
  if (held) record_.Renewed(key, owner, world_.next_ms() + kRenewMs);
}

void LockPlayers::BreakLock(Player& player, const std::string& key) {
  const LockRecord::Holders& holders = record_.Of(key);
  const bool one = !holders.empty() && world_.OneIn(2);
  const int64_t token = one ? holders.begin()->second.token : 0;
  std::vector<std::string> command{"LOCK.BREAK", key};
  if (one) command.insert(command.end(), {"TOKEN", std::to_string(token)});
  const int64_t broken = player.client->Run(command).integer;
  EXPECT_EQ(broken, one ? 1 : static_cast<int64_t>(holders.size()));
  record_.Broken(key, token);
}

void LockPlayers::Hangs(Player& player) {
  const uint64_t gone = player.connection;
  player.client->Disconnect();
  record_.Closed(gone);
  player = NewPlayer();
}

void LockPlayers::Resets(Player& player) {
  player.client->Run({"RESET"});
  record_.Closed(player.connection);
}

// Each of these ends whatever is held, by other hands than a holder's.
void LockPlayers::LoseAKey() {
  const std::string& key = AnyKey();
  const int64_t what = world_.Pick(0, 5);
  if (what == 0) observer_.Run({"DEL", key});
  if (what == 1) observer_.Run({"RENAME", key, "elsewhere"});
  if (what == 2) observer_.Run({"MOVE", key, "1"});
  if (what == 3) observer_.Run({"SET", key, "text"});
  if (what <= 3) record_.Broken(key, 0);
  if (what == 4) observer_.Run({"SWAPDB", "0", "1"});
  if (what == 5) observer_.Run({"FLUSHDB"});
  if (what >= 4) record_.Flushed();
  if (what == 3) Observe({"DEL", key});
}

// A holder's token passes, one that no owner has been given never does.
void LockPlayers::CheckFence(Player& player, const std::string& key) {
  const LockRecord::Holders& holders = record_.Of(key);
  const int64_t token = holders.empty() ? record_.newest() + 1 : holders.begin()->second.token;
  const Reply reply = player.client->Run({"FENCED", key, std::to_string(token), "PING"});
  EXPECT_EQ(reply.text, holders.empty() ? reply.text : "PONG");
  EXPECT_NE(reply.text, holders.empty() ? "PONG" : "") << "a token passed that no owner was given";
}

// --- what they are answered

// An answer to the observer is of before what the same turn then grants to others.
Reply LockPlayers::Observe(const std::vector<std::string>& command) {
  Reply reply = observer_.Run(command);
  Collect();
  return reply;
}

void LockPlayers::Collect() {
  std::vector<LockRecord::Grant> grants;
  for (Player& player : players_) {
    if (!player.waits) continue;
    const std::optional<Reply> reply = player.client->Next();
    if (!reply) continue;
    const LockAsk ask = *std::exchange(player.waits, std::nullopt);
    if (ask.upgrades || ask.downgrades) {
      CheckRefusal(ask, *reply);
      if (reply->kind == Reply::Kind::kInteger)
        grants.push_back({reply->integer, ask.keys.front(), ask});
      continue;
    }
    if (reply->kind != Reply::Kind::kArray || reply->elements.empty()) continue;
    for (size_t i = 0; i < ask.keys.size(); ++i) {
      grants.push_back({reply->elements.at(ask.several ? i : 0).integer, ask.keys[i], ask});
    }
  }
  if (!grants.empty()) record_.Granted(std::move(grants), world_.next_ms());
}

// A holder is not told that it holds nothing.
void LockPlayers::CheckRefusal(const LockAsk& ask, const Reply& reply) {
  if (reply.kind != Reply::Kind::kError || !reply.text.starts_with("NOTHELD")) return;
  EXPECT_FALSE(record_.Find(ask.keys.front(), ask.owner)) << ask.owner << " holds it";
}

void LockPlayers::Compare(const std::string& key) {
  std::string recorded;
  const auto add = [](std::string& text, const std::string& owner, int64_t token, int64_t permits,
                      int64_t holds, int64_t lease_ms) {
    text += owner + " token " + std::to_string(token) + " permits " + std::to_string(permits) +
            " holds " + std::to_string(holds) + " lease " + std::to_string(lease_ms) + "\n";
  };
  for (const auto& [owner, held] : record_.Of(key)) {
    const int64_t until_ms = held.lease_until_ms;
    add(recorded, owner, held.token, held.permits, held.holds,
        until_ms < 0 ? -1 : until_ms - world_.next_ms());
  }
  const Reply info = observer_.Run({"LOCK.INFO", key});
  std::map<std::string, std::string> told_by_owner;
  if (!info.elements.empty()) {
    for (const Reply& holder : info.elements.at(3).elements) {
      const std::vector<Reply>& of = holder.elements;
      add(told_by_owner[of.at(0).text], of.at(0).text, of.at(1).integer, of.at(2).integer,
          of.at(3).integer, of.at(4).integer);
    }
  }
  std::string told;
  for (const auto& [owner, line] : told_by_owner) told += line;
  EXPECT_EQ(told, recorded) << "of " << key;
  Collect();
}

// A request that stands alone before locks with room is granted, once the server can write again.
void LockPlayers::CheckThatNobodyWaitsInVain() {
  const bool writes =
      !world_.disk_is_full() && world_.now_ms() - world_.writable_since_ms > kRetryMs;
  if (!writes) return;
  for (const Player& player : players_) {
    if (!player.waits || !StandsAlone(player)) continue;
    EXPECT_FALSE(record_.HasRoomFor(*player.waits)) << player.waits->owner << " waits in vain";
  }
}

bool LockPlayers::StandsAlone(const Player& player) const {
  const auto asks_for = [](const Player& other, const std::string& key) {
    return other.waits && std::ranges::find(other.waits->keys, key) != other.waits->keys.end();
  };
  for (const Player& other : players_) {
    if (&other == &player) continue;
    for (const std::string& key : player.waits->keys) {
      if (asks_for(other, key)) return false;
    }
  }
  return true;
}

}  // namespace sluice
