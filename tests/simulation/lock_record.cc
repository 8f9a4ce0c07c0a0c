// See lock_record.h.
#include "tests/simulation/lock_record.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {

void LockRecord::Granted(std::vector<Grant> grants, int64_t next_ms) {
  // The tokens tell in which order they were granted.
  // What follows under the same token comes behind the grant of it.
  std::ranges::stable_sort(grants, {}, [](const Grant& grant) {
    return std::pair(grant.token, !grant.ask.upgrades && !grant.ask.downgrades);
  });
  for (const Grant& grant : grants) {
    const LockAsk& ask = grant.ask;
    if (ask.upgrades || ask.downgrades) {
      ModeChanged(grant);
      continue;
    }
    if (!Find(grant.key, ask.owner)) {
      EXPECT_TRUE(HasRoomAt(grant.key, ask))
          << grant.key << " was given to " << ask.owner << " too";
    }
    if (!Find(grant.key, ask.owner) && !GoesOn(grant)) {
      // A client that waits for what it gives back itself may get it before the last of it is back.
      const bool is_kept = last_of_[grant.key] == std::pair(ask.owner, grant.token);
      EXPECT_TRUE(is_kept || grant.token > newest_) << grant.token << ": tokens must grow";
      last_of_[grant.key] = {ask.owner, grant.token};
      newest_ = std::max(newest_, grant.token);
      locks_[grant.key][ask.owner] = {
          .token = grant.token, .mode = ask.mode, .permits = ask.permits};
    }
    Holding& held = *Find(grant.key, ask.owner);
    EXPECT_EQ(held.token, grant.token) << "a re-entrant grant keeps its token";
    EXPECT_EQ(held.mode, ask.mode);
    EXPECT_EQ(held.permits, ask.permits);
    ++held.holds;
    if (ask.connection != 0) held.connections.insert(ask.connection);
    if (ask.lease_ms > 0) {
      held.lease_until_ms = std::max(held.lease_until_ms, next_ms + ask.lease_ms);
    }
  }
}

// A reader becomes the writer, or the writer a reader: no other holder is beside it, and all else
// of its holding stays.
void LockRecord::ModeChanged(const Grant& grant) {
  const std::string& owner = grant.ask.owner;
  Holding* held = Find(grant.key, owner);
  if (!held) {  // its lease ended in this ms
    const auto node = ended_now_[grant.key].extract(owner);
    ASSERT_FALSE(node.empty()) << owner << " holds nothing of " << grant.key;
    held = &(locks_[grant.key][owner] = node.mapped());
  }
  const auto mode = grant.ask.upgrades ? LockAsk::Mode::kExclusive : LockAsk::Mode::kShared;
  ASSERT_NE(held->mode, LockAsk::Mode::kPermits);
  if (held->mode == mode) {
    EXPECT_EQ(grant.token, held->token) << "nothing changes, so the token stays";
    return;
  }
  EXPECT_EQ(locks_[grant.key].size(), 1u) << owner << " is not alone";
  EXPECT_GT(grant.token, newest_) << "tokens must grow";
  newest_ = std::max(newest_, grant.token);
  held->token = grant.token;
  held->mode = mode;
  last_of_[grant.key] = {owner, grant.token};
}

int64_t LockRecord::Released(const std::string& key, const std::string& owner, bool all) {
  Holding& held = *Find(key, owner);
  const int64_t left = all ? 0 : held.holds - 1;
  held.holds = left;
  if (left == 0) locks_[key].erase(owner);
  return left;
}

void LockRecord::Renewed(const std::string& key, const std::string& owner, int64_t until_ms) {
  Find(key, owner)->lease_until_ms = until_ms;
}

void LockRecord::Broken(const std::string& key, int64_t token) {
  for (Holders* holders : {&locks_[key], &ended_now_[key]}) {
    std::erase_if(*holders, [token](const auto& holder) {
      return token == 0 || holder.second.token == token;
    });
  }
}

// An answer of before may still be under way: a wait that the end of the connection's own waits let
// through, while its owner held the lock by that connection.
void LockRecord::Closed(uint64_t connection) {
  for (auto& [key, holders] : locks_) {
    for (auto& [owner, held] : holders) {
      if (held.connections.erase(connection) == 0) continue;
      if (held.connections.empty() && held.lease_until_ms < 0) ended_now_[key][owner] = held;
    }
  }
  EraseUnbound();
}

void LockRecord::PassedTo(int64_t now_ms) {
  ended_now_.clear();
  for (auto& [key, holders] : locks_) {
    for (auto& [owner, held] : holders) {
      if (held.lease_until_ms > now_ms) continue;
      const bool ends_now = held.lease_until_ms == now_ms;
      held.lease_until_ms = -1;
      if (ends_now && held.connections.empty()) ended_now_[key][owner] = held;
    }
  }
  EraseUnbound();
}

bool LockRecord::GoesOn(const Grant& grant) {
  const auto node = ended_now_[grant.key].extract(grant.ask.owner);
  if (node.empty() || node.mapped().token != grant.token) return false;
  locks_[grant.key][grant.ask.owner] = node.mapped();
  return true;
}

LockRecord::Holding* LockRecord::Find(const std::string& key, const std::string& owner) {
  const auto found = locks_[key].find(owner);
  return found == locks_[key].end() ? nullptr : &found->second;
}

bool LockRecord::HasRoomFor(const LockAsk& ask) {
  if (ask.upgrades)
    return !Find(ask.keys.front(), ask.owner) || locks_[ask.keys.front()].size() == 1;
  return std::ranges::all_of(ask.keys, [&](const std::string& key) { return HasRoomAt(key, ask); });
}

bool LockRecord::HasRoomAt(const std::string& key, const LockAsk& ask) {
  int64_t permits = ask.permits;
  for (const auto& [owner, held] : locks_[key]) {
    if (held.mode != ask.mode || ask.mode == LockAsk::Mode::kExclusive) return false;
    permits += held.permits;
  }
  return ask.mode != LockAsk::Mode::kPermits || permits <= kPermitsInRecord;
}

void LockRecord::EraseUnbound() {
  for (auto& [key, holders] : locks_) {
    std::erase_if(holders, [](const auto& holder) {
      return holder.second.connections.empty() && holder.second.lease_until_ms < 0;
    });
  }
}

}  // namespace sluice
