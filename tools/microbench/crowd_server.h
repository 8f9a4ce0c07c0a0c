// A server for measuring turns: an engine whose clients have no sockets (what they are sent is
// counted and dropped), whose time is moved by hand, and whose turns end by the real clock. What is
// measured is the CPU time of its thread, turn by turn. What a worker would do, such as to write a
// file, is done between two turns and not measured.
//
//   CrowdServer server;
//   server.SendMany(1000, [](int i) { return Concat("SET k", i, " x"); });
//   server.Measure();
//   server.Send("FLUSHALL");                      // and all turns that it takes
//   server.longest_us();
#pragma once

#include <time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/config.h"
#include "server/engine/engine.h"
#include "storage/time/clock.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_disk.h"

namespace sluice {

class HalfManualClock final : public Clock {
 public:
  int64_t TickNanos() override;
  void Advance(int64_t ms) { manual_.Advance(ms); }

 private:
  Now Read() override { return manual_.Sample(); }

  ManualClock manual_;
};

class CrowdServer final : private ProcessServices, private Background, private Host {
 public:
  CrowdServer();
  SessionId Connect();
  // One client's request, and all turns that it takes.
  void Send(SessionId id, std::string_view line);
  void Send(std::string_view line) { Send(client_, line); }
  // The same, and one turn: more may be left to do.
  void Begin(std::string_view line);
  // Of the one client: `count` requests, 200 a turn.
  void SendMany(int count, const std::function<std::string(int)>& line);
  // So many clients send a request each. Returns them.
  std::vector<SessionId> Crowd(int count, const std::function<std::string(int)>& line);
  void Advance(int64_t ms) {
    Pass(ms);
    Settle();
  }
  void Pass(int64_t ms) { clock_.Advance(ms); }  // the next turn sees it
  void Settle();
  bool Turn();
  // A connection breaks. What that costs counts as a turn: a host calls it between turns.
  void Drop(SessionId id);
  // From here on turns are measured.
  void Measure() { longest_ns_ = total_ns_ = turns_ = 0; }

  int64_t longest_us() const { return longest_ns_ / 1000; }
  int64_t total_us() const { return total_ns_ / 1000; }
  int64_t turns() const { return turns_; }
  int64_t longest_at() const { return longest_at_; }  // which turn it was
  size_t bytes_sent() const { return bytes_sent_; }
  Engine& engine() { return *engine_; }

 private:
  void Send(Session& session) override;
  void Closed(SessionId) override {}
  void ReturnFreedAtOnce(bool on) override;
  uint64_t Run(WorkerLane lane, std::function<void()> work, std::function<void()> done) override;
  void Await(uint64_t number) override;
  bool DoInBackground();
  void Poll() override {}
  void FillWithRandom(std::span<uint8_t>) override {}
  void Shutdown(int) override {}
  void Sleep(int64_t) override {}
  void Log(LogLevel, std::string_view) override {}
  void Count(int64_t ns);

  MemoryDisk disk_;
  Config config_{disk_};
  HalfManualClock clock_;
  struct BackgroundTask {
    uint64_t number;
    std::function<void()> work;  // empty: it is done
    std::function<void()> done;
  };
  std::deque<BackgroundTask> background_;
  uint64_t last_aside_ = 0;
  std::unique_ptr<Engine> engine_;
  SessionId client_;
  int64_t longest_ns_ = 0;
  int64_t total_ns_ = 0;
  int64_t turns_ = 0;
  int64_t longest_at_ = 0;
  size_t bytes_sent_ = 0;
};

}  // namespace sluice
