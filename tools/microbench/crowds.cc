// The longest turn of the engine, in CPU time of its thread, while crowds of locks, waiters,
// holders and limiters are dealt with: larger ones than sockets reach. The engine's time is moved
// by hand, its turns end by the real clock. Build with -DSLUICE_MICROBENCH=ON. Each case has a
// process of its own: what mimalloc still has of a case before it gives back 32 MiB at a time, in
// turns of up to 4 ms of the case behind it.
//
//   crowds            all of them; the exit status is 1 when a turn took longer than its bar
//   crowds --list     their names
//   crowds NAME ...   these alone
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/net/allocator.h"
#include "storage/time/clock.h"
#include "tests/support/memory_disk.h"

namespace sluice {
namespace {

constexpr int64_t kTurnBarUs = 2000;
// Of a command that names one limiter and changes all that is in it: 20 ns a record of a log, 0.1
// us a drain. They are O(N) by their documentation.
constexpr int64_t kLogBarUs = 20'000;
constexpr int64_t kDrainsBarUs = 100'000;
constexpr int kMillion = 1'000'000;
constexpr int kCrowd = 100'000;
constexpr int kConnections = 20'000;

int64_t ReadClock(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

class HalfManualClock final : public Clock {
 public:
  Now Sample() override { return manual_.Sample(); }
  int64_t TickNanos() override { return ReadClock(CLOCK_MONOTONIC); }
  void Advance(int64_t ms) { manual_.Advance(ms); }

 private:
  ManualClock manual_;
};

std::string Request(const std::vector<std::string>& words) {
  std::string bytes = Concat("*", words.size(), "\r\n");
  for (const std::string& word : words) bytes += Concat("$", word.size(), "\r\n", word, "\r\n");
  return bytes;
}

std::string Line(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return Request(words);
}

// An engine whose clients have no sockets: what they are sent is counted and dropped.
class Server final : private Host {
 public:
  Server() {
    config_.SetAtStart("maxclients", {"1000000"});
    EngineOptions options;
    options.seed = 1;
    options.executable = "crowds";
    const auto families = AllFamilies();
    families_.assign(std::begin(families), std::end(families));
    Host& host = *this;
    engine_ = std::make_unique<Engine>(config_, clock_, host, disk_, families_, options);
    client_ = Connect();
  }

  SessionId Connect() {
    Peer peer;
    peer.address = "127.0.0.1:50000";
    peer.local_address = "127.0.0.1:6379";
    return engine_->Open(std::move(peer));
  }
  // One client's request, and all turns that it takes.
  void Send(SessionId id, std::string_view line) {
    const std::string request = Line(line);
    engine_->Receive(id, request);
    Settle();
  }
  void Send(std::string_view line) { Send(client_, line); }
  // The same, and one turn: more may be left to do.
  void Begin(std::string_view line) {
    const std::string request = Line(line);
    engine_->Receive(client_, request);
    Turn();
  }
  // Of the one client: `count` requests, 200 a turn.
  void SendMany(int count, const std::function<std::string(int)>& line) {
    std::string requests;
    for (int i = 0; i < count; ++i) {
      requests += Line(line(i));
      if (i % 200 != 199 && i != count - 1) continue;
      engine_->Receive(client_, requests);
      Settle();
      requests.clear();
    }
  }
  // So many clients send a request each. Returns them.
  std::vector<SessionId> Crowd(int count, const std::function<std::string(int)>& line) {
    std::vector<SessionId> clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(Connect());
      Send(clients.back(), line(i));
    }
    return clients;
  }
  void Advance(int64_t ms) {
    Pass(ms);
    Settle();
  }
  void Pass(int64_t ms) { clock_.Advance(ms); }  // the next turn sees it
  void Settle() {
    while (Turn() || engine_->NextWork() <= clock_.Sample().ms()) {
    }
  }
  bool Turn() {
    const int64_t begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    const bool left = engine_->RunTurn();
    Count(ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin);
    return left;
  }
  // A connection breaks. What that costs counts as a turn: a host calls it between turns.
  void Drop(SessionId id) {
    const int64_t begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    engine_->Drop(id);
    Count(ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  // From here on turns are measured.
  void Measure() { longest_ns_ = total_ns_ = turns_ = 0; }

  int64_t longest_us() const { return longest_ns_ / 1000; }
  int64_t total_us() const { return total_ns_ / 1000; }
  int64_t turns() const { return turns_; }
  int64_t longest_at() const { return longest_at_; }  // which turn it was
  size_t bytes_sent() const { return bytes_sent_; }
  Engine& engine() { return *engine_; }

 private:
  void Send(Session& session) override {
    while (!session.output.empty()) {
      iovec vectors[16];
      const size_t count = session.output.Peek(vectors, 16);
      size_t bytes = 0;
      for (size_t i = 0; i < count; ++i) bytes += vectors[i].iov_len;
      if (vectors[0].iov_len > 0 && *static_cast<const char*>(vectors[0].iov_base) == '-') {
        std::fprintf(stderr, "%.*s", static_cast<int>(std::min<size_t>(80, vectors[0].iov_len)),
                     static_cast<const char*>(vectors[0].iov_base));
      }
      bytes_sent_ += bytes;
      session.output.Consume(bytes);
    }
  }
  void Closed(SessionId) override {}
  void ReturnFreedAtOnce(bool on) override { sluice::ReturnFreedAtOnce(on); }
  void Poll() override {}
  void Shutdown(int) override {}
  void Sleep(int64_t) override {}
  void Log(int, std::string_view) override {}
  void Count(int64_t ns) {
    ++turns_;
    total_ns_ += ns;
    if (ns <= longest_ns_) return;
    longest_ns_ = ns;
    longest_at_ = turns_;
  }

  MemoryDisk disk_;
  Config config_{disk_};
  HalfManualClock clock_;
  std::vector<CommandFamily> families_;
  std::unique_ptr<Engine> engine_;
  SessionId client_;
  int64_t longest_ns_ = 0;
  int64_t total_ns_ = 0;
  int64_t turns_ = 0;
  int64_t longest_at_ = 0;
  size_t bytes_sent_ = 0;
};

// --- what is measured

std::string Number(std::string_view before, int number, std::string_view after = {}) {
  return Concat(before, number, after);
}

void FillLocks(Server& server, int locks) {
  server.SendMany(locks, [](int i) { return Number("LOCK.ACQUIRE lock:", i, " me LEASE 900000"); });
}

void Flush(Server& server, int locks, std::string_view command) {
  FillLocks(server, locks);
  server.Measure();
  server.Send(command);
}

// A crowd that waits for one lock, which another holds.
std::vector<SessionId> Waiters(Server& server, int count, std::string_view terms) {
  server.Send("LOCK.ACQUIRE door keeper LEASE 100000000");
  return server.Crowd(count, [&](int i) {
    return Concat("LOCK.ACQUIRE door w", i, " LEASE 5000 WAIT 60000 ", terms);
  });
}

void Holders(Server& server, int count, std::string_view terms) {
  server.SendMany(
      count, [&](int i) { return Concat("LOCK.ACQUIRE door h", i, " SHARED LEASE 5000 ", terms); });
}

void WaitersThen(Server& server, std::string_view terms, std::string_view command) {
  Waiters(server, kCrowd, terms);
  server.Measure();
  server.Send(command);
}

void HoldersThen(Server& server, std::string_view command) {
  Holders(server, kCrowd, "");
  server.Measure();
  server.Send(command);
}

void WaitsEnd(Server& server) {
  Waiters(server, kCrowd, "");
  server.Measure();
  server.Advance(60'001);
}

void LeasesEnd(Server& server) {
  Holders(server, kCrowd, "");
  server.Measure();
  server.Advance(5'002);
}

// Each drop is a turn of its own, and what the drops leave is dealt with after them.
void AllClose(Server& server, const std::vector<SessionId>& clients) {
  server.Measure();
  for (const SessionId id : clients) server.Drop(id);
  server.Settle();
}

void HandOvers(Server& server) {
  const std::vector<SessionId> clients = Waiters(server, 1'000, "");
  server.Measure();
  server.Send("LOCK.RELEASE door keeper");
  for (size_t i = 0; i < clients.size(); ++i)
    server.Send(clients[i], Concat("LOCK.RELEASE door w", i));
}

// A million milliseconds with a request each.
void FillLog(Server& server) {
  for (int i = 0; i < kMillion; ++i) {
    server.Advance(1);
    server.Send("LIMIT.TAKE log LOG 2000000 2000000");
  }
  server.Measure();
}

void LimitWaiters(Server& server, const std::function<std::string(int)>& request) {
  server.Crowd(kCrowd, request);
  server.Measure();
}

struct Case {
  const char* name;
  std::function<void(Server&)> run;
  int64_t bar_us = kTurnBarUs;
};

const Case kCases[] = {
    {"flushall", [](Server& s) { Flush(s, kMillion, "FLUSHALL"); }},
    {"flushall-async", [](Server& s) { Flush(s, kMillion / 2, "FLUSHALL ASYNC"); }},
    {"swapdb",
     [](Server& s) {
       FillLocks(s, kMillion);
       s.Measure();
       s.Send("SWAPDB 0 1");
     }},
    {"waits-end", WaitsEnd},
    {"release-to-readers", [](Server& s) { WaitersThen(s, "SHARED", "LOCK.RELEASE door keeper"); }},
    {"release-to-permits",
     [](Server& s) { WaitersThen(s, "PERMITS 1 OF 1000000", "LOCK.RELEASE door keeper"); }},
    {"broken-to-readers", [](Server& s) { WaitersThen(s, "SHARED", "LOCK.BREAK door"); }},
    {"deleted-to-readers", [](Server& s) { WaitersThen(s, "SHARED", "DEL door"); }},
    {"flushed-to-readers", [](Server& s) { WaitersThen(s, "SHARED", "FLUSHALL"); }},
    {"overwritten-with-waiters", [](Server& s) { WaitersThen(s, "", "SET door x"); }},
    {"lines-flushed",
     [](Server& s) {
       FillLocks(s, kCrowd);
       s.Crowd(kCrowd, [](int i) {
         return Concat("LOCK.ACQUIRE lock:", i, " w", i, " LEASE 5000 WAIT 60000");
       });
       s.Measure();
       s.Send("FLUSHALL");
     }},
    {"leases-end", LeasesEnd},
    {"leases-end-seen",
     [](Server& s) {
       Holders(s, kCrowd, "");
       s.Measure();
       s.Pass(5'002);
       s.Turn();  // what was sent in time would be read first
       s.Send("LOCK.ACQUIRE door w LEASE 1000");
     }},
    {"leases-end-but-one",  // which keeps the lock, so the others have to end one by one
     [](Server& s) {
       Holders(s, kCrowd, "");
       s.Send(s.Connect(), "LOCK.ACQUIRE door stays SHARED SESSION");
       s.Measure();
       s.Pass(5'002);
       s.Turn();
       s.SendMany(200, [](int i) { return Number("LOCK.ACQUIRE door h", i, " SHARED LEASE 9"); });
     }},
    {"permits-end-but-one",
     [](Server& s) {
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
    {"holders-broken", [](Server& s) { HoldersThen(s, "LOCK.BREAK door"); }},
    {"holders-deleted", [](Server& s) { HoldersThen(s, "DEL door"); }},
    {"holders-overwritten", [](Server& s) { HoldersThen(s, "SET door x"); }},
    {"holders-renamed", [](Server& s) { HoldersThen(s, "RENAME door gate"); }},
    {"holders-flushed", [](Server& s) { HoldersThen(s, "FLUSHALL"); }},
    {"holders-swapped", [](Server& s) { HoldersThen(s, "SWAPDB 0 1"); }},
    {"holders-watched",  // from now on the search for circles has to know who they are
     [](Server& s) {
       Holders(s, kCrowd, "");
       s.Measure();
       s.Send(s.Connect(), "LOCK.ACQUIRE door w LEASE 1000 WAIT 10000");
     }},
    {"holders-notified",
     [](Server& s) {
       for (int i = 0; i < kConnections; ++i) {
         const SessionId id = s.Connect();
         s.Send(id, "HELLO 3");
         s.Send(id, Number("LOCK.ACQUIRE door h", i, " SHARED LEASE 5000 NOTIFY"));
       }
       s.Measure();
       s.Send("DEL door");
     }},
    {"holders-of-sessions-deleted",
     [](Server& s) {
       const auto clients = s.Crowd(
           kConnections, [](int i) { return Number("LOCK.ACQUIRE door h", i, " SHARED SESSION"); });
       s.Begin("DEL door");
       AllClose(s, clients);  // while their lock is taken apart
     }},
    {"holders-broken-to-readers",
     [](Server& s) {
       Holders(s, kCrowd, "");
       s.Crowd(kConnections,
               [](int i) { return Number("LOCK.ACQUIRE door w", i, " LEASE 5000 WAIT 60000"); });
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"holders-broken-with-log",
     [](Server& s) {
       s.Send("CONFIG SET appendonly yes");
       Holders(s, kCrowd, "");
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-of-sessions-broken",
     [](Server& s) {
       s.Crowd(kConnections, [](int) { return "LOCK.ACQUIRE door me SESSION"; });
       s.Measure();
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-notified",
     [](Server& s) {
       s.Measure();
       for (int i = 0; i < kConnections; ++i) {
         const SessionId id = s.Connect();
         s.Send(id, "HELLO 3");
         s.Send(id, "LOCK.ACQUIRE door me LEASE 5000 NOTIFY");
       }
       s.Send("LOCK.BREAK door");
     }},
    {"one-holder-closes",
     [](Server& s) {
       AllClose(s, s.Crowd(kConnections, [](int) { return "LOCK.ACQUIRE door me SESSION"; }));
     }},
    {"holders-close",
     [](Server& s) {
       AllClose(s, s.Crowd(kConnections, [](int i) {
         return Number("LOCK.ACQUIRE door h", i, " SHARED SESSION");
       }));
     }},
    {"waiters-close", [](Server& s) { AllClose(s, Waiters(s, kConnections, "")); }},
    {"chain-closes",  // who closes hands to one that is about to
     [](Server& s) {
       AllClose(s, s.Crowd(kConnections, [](int i) {
         return Number("LOCK.ACQUIRE door h", i, " SESSION WAIT 60000");
       }));
     }},
    {"locks-of-one-close",
     [](Server& s) {
       const SessionId id = s.Connect();
       for (int i = 0; i < kCrowd; ++i) s.Send(id, Number("LOCK.ACQUIRE lock:", i, " me SESSION"));
       AllClose(s, {id});
     }},
    {"hand-overs", HandOvers},
    {"memory-collapses",
     [](Server& s) {
       FillLocks(s, kMillion / 2);
       s.SendMany(kMillion / 2, [](int i) { return Number("LOCK.RELEASE lock:", i, " me"); });
       s.Advance(3'600'000);
       s.Measure();
       s.Send("LOCK.ACQUIRE a me LEASE 1000");
       s.Send("LOCK.RELEASE a me");
       s.Send("FENCED b 1 GET x");
     }},
    {"list-one-lock",
     [](Server& s) {
       s.SendMany(kMillion, [](int i) { return Number("SET text:", i, " x"); });
       s.Send("LOCK.ACQUIRE door me LEASE 100000");
       s.Measure();
       s.Send("LOCK.LIST 0");
     }},
    {"log-peek-other-max",
     [](Server& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 1500000 2000000 PEEK");
     }},
    {"log-peek-other-period",
     [](Server& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 2000000 1500000 PEEK");
     }},
    {"log-other-max",
     [](Server& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 1500000 2000000");
       s.Send("LIMIT.TAKE log LOG 2500000 2000000");
     },
     kLogBarUs},
    {"log-other-period",
     [](Server& s) {
       FillLog(s);
       s.Send("LIMIT.TAKE log LOG 2000000 1500000");
     },
     kLogBarUs},
    {"log-left",
     [](Server& s) {
       FillLog(s);
       s.Advance(1'999'000);
       s.Send("LIMIT.TAKE log LOG 2000000 2000000");
     }},
    {"log-refund",
     [](Server& s) {
       FillLog(s);
       s.Send("LIMIT.REFUND log 999999");
     }},
    {"log-deleted",
     [](Server& s) {
       FillLog(s);
       s.Send("DEL log");
     }},
    {"bucket-drains",
     [](Server& s) {
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
     [](Server& s) {
       s.Send("LIMIT.TAKE k WINDOW 1 1000000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 1 1000000 WAIT 5000"; });
       s.Advance(5'001);
     }},
    {"limit-waits-fit",
     [](Server& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Advance(5'001);
     }},
    {"limit-waits-deleted",
     [](Server& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Send("DEL k");
     }},
    {"limit-waits-overwritten",
     [](Server& s) {
       s.Send("LIMIT.TAKE k WINDOW 200000 5000 COST 200000");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k WINDOW 200000 5000 WAIT 60000"; });
       s.Send("SET k x");
     }},
    {"limit-lines-flushed",
     [](Server& s) {
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000"); });
       LimitWaiters(s,
                    [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000 WAIT 60000"); });
       s.Send("FLUSHALL");
     }},
    {"limit-lines-fit",
     [](Server& s) {
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000"); });
       LimitWaiters(s,
                    [](int i) { return Number("LIMIT.TAKE k", i, " WINDOW 1 50000 WAIT 60000"); });
       s.Advance(50'001);
     }},
    {"limit-policy",
     [](Server& s) {
       s.Send("LIMIT.POLICY SET p WINDOW 1 50000");
       s.SendMany(kCrowd, [](int i) { return Number("LIMIT.TAKE k", i, " POLICY p"); });
       LimitWaiters(s, [](int i) { return Number("LIMIT.TAKE k", i, " POLICY p WAIT 60000"); });
       s.Send("LIMIT.POLICY SET p WINDOW 2 50000");
     }},
    {"limit-policy-gone",
     [](Server& s) {
       s.Send("LIMIT.POLICY SET p WINDOW 1 50000");
       s.Send("LIMIT.TAKE k POLICY p");
       LimitWaiters(s, [](int) { return "LIMIT.TAKE k POLICY p WAIT 60000"; });
       s.Send("LIMIT.POLICY DEL p");
     }},
    {"limit-waiters-close",
     [](Server& s) {
       s.Send("LIMIT.TAKE k WINDOW 1 1000000");
       AllClose(s, s.Crowd(kConnections,
                           [](int) { return "LIMIT.TAKE k WINDOW 1 1000000 WAIT 500000"; }));
     }},
};

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

bool Measure(const Case& measured) {
  Server server;
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
