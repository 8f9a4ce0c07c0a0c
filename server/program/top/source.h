// TopSource: asks a server for what `sluice top` shows, over an ordinary connection.
//
//   INFO; INFO locks, turns, timers, limits; SLOWLOG GET      one batch
//   LOCK.LIST WAITED; LOCK.LIST                               names, kNamesAtOnce by kNamesAtOnce
//   LOCK.INFO of locks in view, and of the first              the next batch
//   LOCK.WAITERS of those that are waited for                 the last
//
// A look costs a server no more than so much, however many locks there are. Where they are more the
// walk of LOCK.LIST goes on with the next look; locks that are waited for are all listed each time.
// A name beyond kNameBytesMax is shown, but not asked for. A server without LOCK.*, such as Redis,
// is not asked for locks.
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
#include "server/program/top/state.h"

namespace sluice {

struct TopTarget {
  std::string server;  // host:port, or unix:/path
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
  int64_t database = 0;  // whose locks are shown
};

// What is to be asked for.
struct TopQuery {
  std::string part;                  // of the names of locks; empty: all
  std::vector<std::string> in_view;  // locks that are asked for before others
  size_t locks_max = 0;              // that are asked for; others are names alone
};

class TopSource {
 public:
  static constexpr std::chrono::milliseconds kPatience{5'000};
  static constexpr size_t kLocksAtOnce = 256;
  static constexpr int64_t kNamesAtOnce = 1000;
  static constexpr int kCallsAtOnce = 4;  // of one walk
  static constexpr int kWaitedCallsMax = 10;
  static constexpr size_t kNamesMax = 100'000;
  static constexpr size_t kNamesBytesMax = 64 << 20;
  static constexpr size_t kNameBytesMax = 4096;
  // LOCK.WAITERS answers with all of them: so many in all.
  static constexpr int64_t kWaitersAskedMax = 4000;
  static constexpr size_t kWaitersShown = 3;
  static constexpr int64_t kSlowShown = 5;

  TopSource(TopTarget target, RedisLink::Beside beside)
      : target_(std::move(target)), beside_(std::move(beside)) {}

  // Connects first where there is no connection. A sentence why nothing was learned, or empty.
  std::string Look(const TopQuery& query, TopFacts& facts);
  // The last sentence would be the same for ever: a wrong password, a missing right.
  bool is_refused() const { return is_refused_; }

  struct Outcome {
    bool is_done = false;
    std::string sentence;
  };
  Outcome Break(const BreakOrder& order);

 private:
  // Names that a walk has come by. They are complete when it has been once around.
  struct Walk {
    std::string cursor = "0";
    std::set<std::string> names;
    size_t bytes = 0;
  };

  std::string LookOnce(const TopQuery& query, TopFacts& facts);
  std::string Begin();
  std::string Exchange(std::string_view requests, size_t count, std::vector<Reply>& replies);
  std::string Broken();
  std::string LookAtServer(TopFacts& facts);
  std::string ListLocks(const std::string& part, TopFacts& facts);
  std::string ListWaited(std::vector<std::string>& names, std::string& note);
  std::string GoOn(std::string& note);
  std::string ListPage(std::string& cursor, bool waited, std::vector<std::string>& names,
                       std::string& note);
  std::string LookAtLocks(const TopQuery& query, TopFacts& facts);
  std::string LookAtWaiters(TopFacts& facts);

  const TopTarget target_;
  const RedisLink::Beside beside_;
  std::unique_ptr<RedisLink> link_;  // null: there is no connection
  bool is_refused_ = false;
  bool has_locks_ = true;
  int64_t names_at_once_ = kNamesAtOnce;  // fewer where they are huge; 0: none at all
  std::string part_;                      // what the walk has asked for
  Walk walk_;
  std::set<std::string> listed_;  // by the last walk
  bool has_been_around_ = false;  // a walk has, for this part
  bool is_cut_ = false;           // it ended before all names, as they were too many
};

}  // namespace sluice
