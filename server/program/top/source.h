// TopSource: asks a server for what `sluice top` shows, over an ordinary connection.
//
//   INFO; INFO locks, turns, timers, limits; LOCK.LIST; SLOWLOG GET      one batch
//   LOCK.INFO of each lock                                               the next
//   LOCK.WAITERS of those that are waited for                            the last
//
// A look costs a server the same whatever there is in it: so many locks are looked at, and where
// there are more the next look goes on behind them, as a walk of LOCK.LIST; those that were waited
// for stay in view. A name beyond kNameBytesMax is shown, but not asked for. A server without
// LOCK.*, such as Redis, is not asked for locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/redis_link.h"
#include "server/program/top/facts.h"

namespace sluice {

struct TopTarget {
  std::string server;  // host:port, or unix:/path
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
  int64_t database = 0;  // whose locks are shown
};

class TopSource {
 public:
  static constexpr std::chrono::milliseconds kPatience{5'000};
  static constexpr int64_t kLocksAtOnce = 128;
  static constexpr size_t kKeptInViewMax = 64;
  static constexpr size_t kNameBytesMax = 4096;
  static constexpr int64_t kWaitersAskedMax = 1000;  // LOCK.WAITERS answers with all of them
  static constexpr size_t kWaitersShown = 3;
  static constexpr int64_t kSlowShown = 5;

  TopSource(TopTarget target, RedisLink::Beside beside)
      : target_(std::move(target)), beside_(std::move(beside)) {}

  // Connects first where there is no connection. A sentence why nothing was learned, or empty.
  std::string Look(TopFacts& facts);
  // The last sentence would be the same for ever: a wrong password, a missing right.
  bool is_refused() const { return is_refused_; }

 private:
  std::string LookOnce(TopFacts& facts);
  std::string Begin();
  std::string Exchange(std::string_view requests, size_t count, std::vector<Reply>& replies);
  std::string Broken();
  std::string LookAtAll(TopFacts& facts, std::set<std::string>& names);
  std::string LookAtLocks(const std::set<std::string>& names, TopFacts& facts);
  std::string LookAtWaiters(TopFacts& facts);
  void ReadNames(const Reply& reply, std::set<std::string>& names, std::string& note);

  const TopTarget target_;
  const RedisLink::Beside beside_;
  std::unique_ptr<RedisLink> link_;  // null: there is no connection
  bool is_refused_ = false;
  bool has_locks_ = true;
  int64_t locks_at_once_ = kLocksAtOnce;  // fewer where their names are huge; 0: none at all
  std::string cursor_ = "0";
  std::set<std::string> in_view_;  // names of locks that were waited for
};

}  // namespace sluice
