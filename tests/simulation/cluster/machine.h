// Machine: a computer with one engine. It has a disk that outlives processes, a steady clock that
// counts from its boot at a rate of its own, and a wall clock that may be wrong by hours and be
// stepped. A process is started on it, killed, stopped for a while (SIGSTOP), or loses its power.
//
// Everything that comes waits until the next turn: bytes of its connections, links that have
// opened, and jobs aside that are done. A turn is planned when something comes, and when the engine
// has work (Engine::NextWork). The engine's words of a turn leave at its end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/cluster/network.h"
#include "tests/simulation/cluster/timeline.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/linearizable/span.h"
#include "tests/support/memory_disk.h"

namespace sluice::cluster {

class Machine final : public Callee, private EngineNetwork {
 public:
  struct Options {
    std::string name;
    Site site = 0;
    std::vector<std::pair<std::string, std::string>> config;
    int64_t unix_ms = 1'700'000'000'000;  // its wall clock at its boot
    double rate = 1;                      // of its steady clock against true time
    bool waits_for_asides = true;         // no: jobs aside are run at once, and its turns wait
  };
  // Time, network and names must outlive it.
  Machine(Timeline& time, Network& network, CalleeNames& names, Options options);
  ~Machine() override;

  // --- the process
  void Start();
  // No word, no sync. Its connections end, as the system closes them.
  void Kill();
  // As a service manager stops it: the log is synced.
  void Stop();
  // And the machine is off until Start: nobody is told, and what was not synced may be gone.
  void CutPower();
  void Pause();
  void Resume();
  bool is_up() const { return process_ != nullptr; }
  bool is_paused() const { return is_paused_; }

  // --- its surroundings
  void StepWall(int64_t ms);
  MemoryDisk& disk() { return disk_; }
  // How long a job aside takes at most.
  void set_aside_max(int64_t span) { aside_max_ = span; }
  void set_config(const std::string& name, const std::string& value);

  const std::string& name() const { return options_.name; }
  TestEngine& engine();  // requires: is_up
  // Brings the engine's clock to the present, as each turn does. Requires: is_up.
  void PassTime();
  // Spans in which it ran no turn, however much there was to do: pauses, and from the end of a
  // process to the first turn of the next one that has loaded.
  const std::vector<Span>& standstills() const { return standstills_; }

  // By an operator's own connection, which is there at once. Nothing if it is down or stands
  // still.
  void Order(const std::vector<std::string>& words);
  // One after the other on one connection, as a MULTI wants it.
  void OrderAll(const std::vector<std::vector<std::string>>& requests);

  // --- Callee
  Site site() const override { return options_.site; }
  bool has_power() const override { return has_power_; }
  Network::Handle Accept(Site caller, End& caller_end) override;

 private:
  class Session;
  struct Process;

  // TestEngine asks this as a Host.
  Fault Open(TestEngine& from, const LinkTarget& target, LinkListener& listener) override;
  void GiveUp(LinkListener& listener) override;
  void Forget(const TestEngine&) override {}
  void OpenAt(const std::string& host, LinkListener& listener);
  void FailLink(LinkListener& listener, const std::string& why);
  bool TakeAttempt(LinkListener& listener);

  int64_t local_us() const;
  void PlanTurn(int64_t moment);
  void Turn();
  void TakeArrivals();
  bool SendOutputs();
  void PlanAsides();
  void RunAside();
  void PlanNext(bool has_work, bool has_left);
  void EndProcess(bool is_told);
  // Runs it if this process still lives then.
  void Later(int64_t span, std::function<void()> event);

  Timeline& time_;
  Network& network_;
  CalleeNames& names_;
  Options options_;
  MemoryDisk disk_;
  std::mt19937_64 chance_;  // of the disk
  int boots_ = 0;
  int64_t booted_at_ = 0;
  int64_t unix_at_boot_ms_ = 0;
  std::optional<int64_t> stands_since_ = 0;
  uint64_t lives_ = 0;
  bool has_power_ = false;
  bool is_paused_ = false;
  int64_t aside_max_ = kMs;
  std::vector<Span> standstills_;
  std::unique_ptr<Process> process_;
};

}  // namespace sluice::cluster
