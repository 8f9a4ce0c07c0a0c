// The longest turn of the engine, in CPU time of its thread, while crowds of locks, waiters,
// holders and limiters are dealt with: larger ones than sockets reach. The engine's time is moved
// by hand, its turns end by the real clock. Build with -DSLUICE_MICROBENCH=ON. Each case has a
// process of its own: what mimalloc still has of a case before it gives back 32 MiB at a time, in
// turns of up to 4 ms of the case behind it.
//
//   crowds            all of them; the exit status is 1 when a turn took longer than its bar
//   crowds --list     their names
//   crowds NAME ...   these alone
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "tools/microbench/crowd_server.h"

namespace sluice {
namespace {

constexpr int64_t kTurnBarUs = 2000;
// These are O(N) by their documentation: a look at a bucket of which so many drains are due, 0.1 us
// each; and replies with 100,000 holders, waiters or members in them, 0.2 us each.
constexpr int64_t kDrainsBarUs = 100'000;
constexpr int64_t kShownBarUs = 20'000;
constexpr int64_t kSavedBarUs = 1000;
constexpr int kMillion = 1'000'000;
constexpr int kCrowd = 100'000;
constexpr int kConnections = 20'000;

// --- what is measured

std::string Number(std::string_view before, int number, std::string_view after = {}) {
  return Concat(before, number, after);
}

void FillLocks(CrowdServer& server, int locks) {
  server.SendMany(locks, [](int i) { return Number("LOCK.ACQUIRE lock:", i, " me LEASE 900000"); });
}

void Flush(CrowdServer& server, int locks, std::string_view command) {
  FillLocks(server, locks);
  server.Measure();
  server.Send(command);
}

// A crowd that waits for one lock, which another holds.
std::vector<SessionId> Waiters(CrowdServer& server, int count, std::string_view terms) {
  server.Send("LOCK.ACQUIRE door keeper LEASE 100000000");
  return server.Crowd(count, [&](int i) {
    return Concat("LOCK.ACQUIRE door w", i, " LEASE 5000 WAIT 60000 ", terms);
  });
}

void Holders(CrowdServer& server, int count, std::string_view terms) {
  server.SendMany(
      count, [&](int i) { return Concat("LOCK.ACQUIRE door h", i, " SHARED LEASE 5000 ", terms); });
}

void WaitersThen(CrowdServer& server, std::string_view terms, std::string_view command) {
  Waiters(server, kCrowd, terms);
  server.Measure();
  server.Send(command);
}

void HoldersThen(CrowdServer& server, std::string_view command) {
  Holders(server, kCrowd, "");
  server.Measure();
  server.Send(command);
}

void WaitsEnd(CrowdServer& server) {
  Waiters(server, kCrowd, "");
  server.Measure();
  server.Advance(60'001);
}

void LeasesEnd(CrowdServer& server) {
  Holders(server, kCrowd, "");
  server.Measure();
  server.Advance(5'002);
}

// Each drop is a turn of its own, and what the drops leave is dealt with after them.
void AllClose(CrowdServer& server, const std::vector<SessionId>& clients) {
  server.Measure();
  for (const SessionId id : clients) server.Drop(id);
  server.Settle();
}

void HandOvers(CrowdServer& server) {
  const std::vector<SessionId> clients = Waiters(server, 1'000, "");
  server.Measure();
  server.Send("LOCK.RELEASE door keeper");
  for (size_t i = 0; i < clients.size(); ++i)
    server.Send(clients[i], Concat("LOCK.RELEASE door w", i));
}

// A million milliseconds with a request each.
void FillLog(CrowdServer& server) {
  for (int i = 0; i < kMillion; ++i) {
    server.Advance(1);
    server.Send("LIMIT.TAKE log LOG 2000000 2000000");
  }
  server.Measure();
}

void LimitWaiters(CrowdServer& server, const std::function<std::string(int)>& request) {
  server.Crowd(kCrowd, request);
  server.Measure();
}

// --- what is saved beside clients

// One looks at the value, another would change it.
void Save(CrowdServer& server, std::string_view look, std::string_view change) {
  const SessionId writer = server.Connect();
  server.Measure();
  server.Begin("BGSAVE");
  for (int i = 0; i < 100; ++i) {
    server.Pass(i % 10 == 0 ? 1 : 0);
    server.Begin(look);
  }
  server.Send(writer, change);
}

// In the order in which they drain, or in none: 7,919 is prime to ten millions.
void SaveBucket(CrowdServer& server, int drains, bool in_order) {
  server.SendMany(drains, [&](int i) {
    const int64_t second = in_order ? i : int64_t{i} * 7'919 % drains;
    return Concat("LBUCKET.COUNT bucket ", second + 1000);
  });
  Save(server, "LBUCKET.GET bucket", "LBUCKET.COUNT bucket 1");
}

void SaveHolders(CrowdServer& server, int64_t passes_ms) {
  Holders(server, kCrowd, "");
  const SessionId gone = server.Connect();
  server.Send(gone, "LOCK.ACQUIRE door gone SHARED SESSION");
  server.Crowd(1, [](int) { return "LOCK.ACQUIRE door next LEASE 5000 WAIT 60000"; });
  const SessionId writer = server.Connect();
  server.Measure();
  server.Begin("BGSAVE");
  server.Pass(passes_ms);
  server.Begin("FENCED door 1 PING");
  server.Drop(gone);
  server.Send(writer, "LOCK.RENEW door h7 LEASE 4000");
}

// A million fields, of which a thousand end, or all of them with their key.
void EndHash(CrowdServer& server, bool whole, bool saves) {
  server.SendMany(kMillion, [](int i) { return Concat("HSET hash ", i, " v"); });
  if (whole) server.Send("PEXPIRE hash 500");
  for (int i = 0; i < 1000 && !whole; ++i) server.Send(Concat("HPEXPIRE hash 500 FIELDS 1 ", i));
  server.Measure();
  if (saves) server.Begin("BGSAVE");
  server.Pass(501);
  server.Begin("HGET hash 7");
  server.Settle();
}

struct Case {
  const char* name;
  std::function<void(CrowdServer&)> run;
  int64_t bar_us = kTurnBarUs;
};

const Case kCases[] = {
    {"save-bucket", [](CrowdServer& s) { SaveBucket(s, 10 * kMillion, true); }, kSavedBarUs},
    {"save-bucket-scattered", [](CrowdServer& s) { SaveBucket(s, 10 * kMillion, false); },
     kSavedBarUs},
    {"save-log",
     [](CrowdServer& s) {
       FillLog(s);
       Save(s, "LIMIT.INFO log", "LIMIT.TAKE log LOG 2000000 2000000");
     },
     kSavedBarUs},
    {"save-lock", [](CrowdServer& s) { SaveHolders(s, 1); }, kSavedBarUs},
    {"save-lock-leases-end", [](CrowdServer& s) { SaveHolders(s, 5'002); }, kSavedBarUs},
    {"save-hash-fields-end", [](CrowdServer& s) { EndHash(s, false, true); }, kSavedBarUs},
    {"save-hash-ends", [](CrowdServer& s) { EndHash(s, true, true); }, kSavedBarUs},
    {"hash-ends", [](CrowdServer& s) { EndHash(s, true, false); }},
    {"flushall", [](CrowdServer& s) { Flush(s, kMillion, "FLUSHALL"); }},
    {"flushall-async", [](CrowdServer& s) { Flush(s, kMillion / 2, "FLUSHALL ASYNC"); }},
    {"swapdb",
     [](CrowdServer& s) {
       FillLocks(s, kMillion);
       s.Measure();
       s.Send("SWAPDB 0 1");
     }},
    {"waits-end", WaitsEnd},
    {"release-to-readers",
     [](CrowdServer& s) { WaitersThen(s, "SHARED", "LOCK.RELEASE door keeper"); }},
    {"release-to-permits",
     [](CrowdServer& s) { WaitersThen(s, "PERMITS 1 OF 1000000", "LOCK.RELEASE door keeper"); }},
    {"broken-to-readers", [](CrowdServer& s) { WaitersThen(s, "SHARED", "LOCK.BREAK door"); }},
    {"deleted-to-readers", [](CrowdServer& s) { WaitersThen(s, "SHARED", "DEL door"); }},
    {"flushed-to-readers", [](CrowdServer& s) { WaitersThen(s, "SHARED", "FLUSHALL"); }},
    {"overwritten-with-waiters", [](CrowdServer& s) { WaitersThen(s, "", "SET door x"); }},
    {"lines-flushed",
     [](CrowdServer& s) {
       FillLocks(s, kCrowd);
       s.Crowd(kCrowd, [](int i) {
         return Concat("LOCK.ACQUIRE lock:", i, " w", i, " LEASE 5000 WAIT 60000");
       });
       s.Measure();
       s.Send("FLUSHALL");
     }},
    {"leases-end", LeasesEnd},
    {"leases-end-seen",
     [](CrowdServer& s) {
       Holders(s, kCrowd, "");
       s.Measure();
       s.Pass(5'002);
       s.Turn();  // what was sent in time would be read first
       s.Send("LOCK.ACQUIRE door w LEASE 1000");
     }},
    {"leases-end-but-one",  // which keeps the lock, so the others have to end one by one
     [](CrowdServer& s) {
       Holders(s, kCrowd, "");
       s.Send(s.Connect(), "LOCK.ACQUIRE door stays SHARED SESSION");
       s.Measure();
       s.Pass(5'002);
       s.Turn();
       s.SendMany(200, [](int i) { return Number("LOCK.ACQUIRE door h", i, " SHARED LEASE 9"); });
     }},
    {"permits-end-but-one",
     [](CrowdServer& s) {
       s.SendMany(kCrowd, [](int i) {
         return Number("LOCK.ACQUIRE door h", i, " PERMITS 1 OF 100001 LEASE 5000");
       });
       s.Send(s.Connect(), "LOCK.ACQUIRE door stays PERMITS 1 OF 100001 SESSION");
       s.Measure();
       s.Pass(5'002);
       s.Turn();
       s.SendMany(200, [](int i) {
         return Number("LOCK.ACQUIRE door w", i, " PERMITS 1 OF 100001 LEASE 9");
       });
     }},
    {"holders-shown", [](CrowdServer& s) { HoldersThen(s, "LOCK.INFO door"); }, kShownBarUs},
    {"waiters-shown", [](CrowdServer& s) { WaitersThen(s, "", "LOCK.WAITERS door"); }, kShownBarUs},
    {"members-shown",
     [](CrowdServer& s) {
       s.SendMany(kCrowd, [](int i) { return Number("SADD set member:", i); });
       s.Measure();
       s.Send("SMEMBERS set");
     },
     kShownBarUs},
    {"holders-broken-when-most-are-over",
     [](CrowdServer& s) {
       Holders(s, kCrowd, "");
       s.Send(s.Connect(), "LOCK.ACQUIRE door stays SHARED SESSION");
       s.Measure();
       s.Pass(5'002);
       s.Turn();
       s.Send("LOCK.BREAK door");
     }},
    {"holders-broken", [](CrowdServer& s) { HoldersThen(s, "LOCK.BREAK door"); }},
    {"holders-deleted", [](CrowdServer& s) { HoldersThen(s, "DEL door"); }},
    {"holders-overwritten", [](CrowdServer& s) { HoldersThen(s, "SET door x"); }},
    {"holders-renamed", [](CrowdServer& s) { HoldersThen(s, "RENAME door gate"); }},
    {"holders-flushed", [](CrowdServer& s) { HoldersThen(s, "FLUSHALL"); }},
    {"holders-swapped", [](CrowdServer& s) { HoldersThen(s, "SWAPDB 0 1"); }},
    {"holders-watched",  // from now on the search for circles has to know who they are
     [](CrowdServer& s) {
       Holders(s, kCrowd, "");
       s.Measure();
       s.Send(s.Connect(), "LOCK.ACQUIRE door w LEASE 1000 WAIT 10000");
     }},
    {"holders-notified",
     [](CrowdServer& s) {
       for (int i = 0; i < kConnections; ++i) {
         const SessionId id = s.Connect();
         s.Send(id, "HELLO 3");
         s.Send(id, Number("LOCK.ACQUIRE door h", i, " SHARED LEASE 5000 NOTIFY"));
       }
       s.Measure();
       s.Send("DEL door");
     }},
    {"holders-of-sessions-deleted",
     [](CrowdServer& s) {
       const auto clients = s.Crowd(
           kConnections, [](int i) { return Number("LOCK.ACQUIRE door h", i, " SHARED SESSION"); });
       s.Begin("DEL door");
       AllClose(s, clients);  // while their lock is taken apart
     }},
    {"holders-broken-to-readers",
     [](CrowdServer& s) {
       Holders(s, kCrowd, "");
       s.Crowd(kConnections,
               [](int i) { return Number("LOCK.ACQUIRE door w", i, " LEASE 5000 WAIT 60000"); });
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"holders-broken-with-log",
     [](CrowdServer& s) {
       s.Send("CONFIG SET appendonly yes");
       Holders(s, kCrowd, "");
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-of-sessions-broken",
     [](CrowdServer& s) {
       s.Crowd(kConnections, [](int) { return "LOCK.ACQUIRE door me SESSION"; });
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-notified",
     [](CrowdServer& s) {
       s.Measure();
       for (int i = 0; i < kConnections; ++i) {
         const SessionId id = s.Connect();
         s.Send(id, "HELLO 3");
         s.Send(id, "LOCK.ACQUIRE door me LEASE 5000 NOTIFY");
       }
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-closes",
     [](CrowdServer& s) {
       AllClose(s, s.Crowd(kConnections, [](int) { return "LOCK.ACQUIRE door me SESSION"; }));
     }},
    {"holders-close",
     [](CrowdServer& s) {
       AllClose(s, s.Crowd(kConnections, [](int i) {
         return Number("LOCK.ACQUIRE door h", i, " SHARED SESSION");
       }));
     }},
    {"waiters-close", [](CrowdServer& s) { AllClose(s, Waiters(s, kConnections, "")); }},
    {"chain-closes",  // who closes hands to one that is about to
     [](CrowdServer& s) {
       AllClose(s, s.Crowd(kConnections, [](int i) {
         return Number("LOCK.ACQUIRE door h", i, " SESSION WAIT 60000");
       }));
     }},
    {"locks-of-one-close",
     [](CrowdServer& s) {
       const SessionId id = s.Connect();
       for (int i = 0; i < kCrowd; ++i) s.Send(id, Number("LOCK.ACQUIRE lock:", i, " me SESSION"));
       AllClose(s, {id});
     }},
    {"hand-overs", HandOvers},
    {"memory-collapses",
     [](CrowdServer& s) {
       FillLocks(s, kMillion / 2);
       s.SendMany(kMillion / 2, [](int i) { return Number("LOCK.RELEASE lock:", i, " me"); });
       s.Advance(3'600'000);
       s.Measure();
       s.Send("LOCK.ACQUIRE a me LEASE 1000");
       s.Send("LOCK.RELEASE a me");
       s.Send("FENCED b 1 GET x");
     }},
    {"list-one-lock",
     [](CrowdServer& s) {
       s.SendMany(kMillion, [](int i) { return Number("SET text:", i, " x"); });
       s.Send("LOCK.ACQUIRE door me LEASE 100000");
       s.Measure();
       s.Send("LOCK.LIST 0");
     }},
    {"log-peek-other-max",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 1500000 2000000 PEEK");
     }},
    {"log-peek-other-period",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 2000000 1500000 PEEK");
     }},
    {"log-other-max",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 1500000 2000000");
       s.Send("LIMIT.TAKE log LOG 2500000 2000000");
     }},
    {"log-other-period",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 2000000 1500000");
     }},
    {"log-left",
     [](CrowdServer& s) {
       FillLog(s);
       s.Advance(1'999'000);
       s.Send("LIMIT.TAKE log LOG 2000000 2000000");
     }},
    {"log-refund",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("LIMIT.REFUND log 999999");
     }},
    {"log-deleted",
     [](CrowdServer& s) {
       FillLog(s);
       s.Send("DEL log");
     }},
    {"bucket-drains",
     [](CrowdServer& s) {
       for (int i = 0; i < 1'000; ++i) {
         s.Advance(1);
         s.SendMany(1'000, [](int j) { return Number("LBUCKET.COUNT bucket ", 2000 - j); });
       }
       s.Measure();
       s.Send("LBUCKET.GET bucket");
       s.Advance(1'500'000);
       s.Send("LBUCKET.GET bucket");
       s.Advance(400'000);
       s.Send("LBUCKET.GET bucket");
     },
     kDrainsBarUs},
    {"limit-waits-end",
     [](CrowdServer& s) {
       s.Send("LIMIT.TAKE k WINDOW 1 1000000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 1 1000000 WAIT 5000"; });
       s.Advance(5'001);
     }},
    {"limit-waits-fit",
     [](CrowdServer& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Advance(5'001);
     }},
    {"limit-waits-deleted",
     [](CrowdServer& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Send("DEL k");
     }},
    {"limit-waits-overwritten",
     [](CrowdServer& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Send("SET k x");
     }},
    {"limit-lines-flushed",
     [](CrowdServer& s) {
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000"); });
       LimitWaiters(s,
                    [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000 WAIT 60000"); });
       s.Send("FLUSHALL");
     }},
    {"limit-lines-fit",
     [](CrowdServer& s) {
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000"); });
       LimitWaiters(s,
                    [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000 WAIT 60000"); });
       s.Advance(50'001);
     }},
    {"limit-policy",
     [](CrowdServer& s) {
       s.Send("LIMIT.POLICY SET p WINDOW 1 50000");
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " POLICY p"); });
       LimitWaiters(s, [](int i) { return Number("LIMIT.TAKE k", i, " POLICY p WAIT 60000"); });
       s.Send("LIMIT.POLICY SET p WINDOW 2 50000");
     }},
    {"limit-policy-gone",
     [](CrowdServer& s) {
       s.Send("LIMIT.POLICY SET p WINDOW 1 50000");
       s.Send("LIMIT.TAKE k POLICY p");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k POLICY p WAIT 60000"; });
       s.Send("LIMIT.POLICY DEL p");
     }},
    {"limit-waiters-close",
     [](CrowdServer& s) {
       s.Send("LIMIT.TAKE k WINDOW 1 1000000");
       AllClose(s, s.Crowd(kConnections,
                           [](int) { return "LIMIT.TAKE k WINDOW 1 1000000 WAIT 500000"; }));
     }},
};

// --- how

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

bool Measure(const Case& measured) {
  CrowdServer server;
  measured.run(server);
  const bool over = server.longest_us() > measured.bar_us;
  std::puts(Concat(Padded(measured.name, 26), " longest turn ", server.longest_us(), " us, bar ",
                   measured.bar_us, over ? " over" : " PASS", ", the ", server.longest_at(),
                   ". of ", server.turns(), " turns of ", server.total_us(), " us")
                .c_str());
  std::fflush(stdout);
  return !over;
}

bool MeasureApart(const Case& measured) {
  const pid_t child = fork();
  if (child == 0) _exit(Measure(measured) ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int Run(std::vector<std::string_view> names) {
  const bool lists = !names.empty() && names[0] == "--list";
  bool passed = true;
  for (const Case& each : kCases) {
    if (lists) {
      std::puts(each.name);
    } else if (names.empty() || std::ranges::find(names, each.name) != names.end()) {
      passed &= MeasureApart(each);
    }
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int count, char** words) {
  return sluice::Run(std::vector<std::string_view>(words + 1, words + count));
}
