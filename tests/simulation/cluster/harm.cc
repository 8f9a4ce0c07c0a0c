// See harm.h.
#include "tests/simulation/cluster/harm.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kDownMax = 5 * kSecond;
constexpr int64_t kPauseMax = 120 * kSecond;
constexpr int64_t kWallStepMaxMs = 3'600'000;
constexpr int64_t kDiskTroubleMax = 3 * kSecond;
constexpr int64_t kSlowMax = 3 * kSecond;
constexpr int64_t kCutMax = 10 * kSecond;
constexpr int64_t kPauseAtEnd = 200 * kMs;

}  // namespace

const Harm::Row Harm::kRows[] = {
    {kStops, &Harm::StopOne},          {kKills, &Harm::KillOne},      {kPowerCuts, &Harm::CutPower},
    {kPauses, &Harm::Pause},           {kWallSteps, &Harm::StepWall}, {kFullDisks, &Harm::FillDisk},
    {kFailingSyncs, &Harm::FailSyncs}, {kSlowSyncs, &Harm::SlowDown}, {kCuts, &Harm::CutLink},
    {kBreaks, &Harm::BreakOne},
};

void Harm::Begin(int64_t every, int64_t until) {
  every_ = every;
  until_ = until;
  world_.time().After(world_.Pick(1, every_), [this] { Act(); });
}

void Harm::Act() {
  if (world_.time().now() >= until_) return End();
  const auto& machines = world_.machines();
  Machine& machine = *machines[static_cast<size_t>(world_.Pick(0, std::ssize(machines) - 1))];
  const Row* row = nullptr;
  while (!row || !(kinds_ & row->kind)) row = &kRows[world_.Pick(0, std::ssize(kRows) - 1)];
  (this->*row->act)(machine);
  // A start may have failed, as its disk was full.
  for (const auto& one : machines) {
    if (!one->is_up() && world_.OneIn(4)) one->Start();
  }
  world_.time().After(world_.Pick(1, 2 * every_), [this] { Act(); });
}

void Harm::End() {
  world_.time().Tell("all is repaired");
  for (const auto& machine : world_.machines()) {
    machine->disk().write_fault = machine->disk().sync_fault = 0;
    machine->set_aside_max(kMs);
    machine->Start();
    machine->Resume();
  }
}

void Harm::Heal(int64_t after_max, std::function<void()> heal) {
  world_.time().After(world_.time().PickSpan(kMs, after_max), std::move(heal));
}

void Harm::Restart(Machine& machine) {
  Heal(kDownMax, [&machine] { machine.Start(); });
}

void Harm::StopOne(Machine& machine) {
  machine.Stop();
  Restart(machine);
}

void Harm::KillOne(Machine& machine) {
  machine.Kill();
  Restart(machine);
}

void Harm::CutPower(Machine& machine) {
  machine.CutPower();
  Restart(machine);
}

void Harm::Pause(Machine& machine) {
  // The end of a second pause would wake it before the end of the first.
  if (machine.is_paused()) return;
  machine.Pause();
  const int64_t left = until_ - world_.time().now();
  Heal(std::min(left + kPauseAtEnd, world_.OneIn(4) ? kPauseMax : 2 * kSecond),
       [&machine] { machine.Resume(); });
}

void Harm::StepWall(Machine& machine) {
  machine.StepWall(world_.Pick(-kWallStepMaxMs, kWallStepMaxMs));
}

void Harm::FillDisk(Machine& machine) {
  world_.time().Tell(Concat(machine.name(), "'s disk is full"));
  machine.disk().write_fault = ENOSPC;
  Heal(kDiskTroubleMax, [&machine] { machine.disk().write_fault = 0; });
}

void Harm::FailSyncs(Machine& machine) {
  world_.time().Tell(Concat(machine.name(), "'s disk fails to sync"));
  machine.disk().sync_fault = EIO;
  Heal(kDiskTroubleMax, [&machine] { machine.disk().sync_fault = 0; });
}

void Harm::SlowDown(Machine& machine) {
  world_.time().Tell(Concat(machine.name(), "'s disk is slow"));
  machine.set_aside_max(kSlowMax);
  Heal(kDiskTroubleMax, [&machine] { machine.set_aside_max(kMs); });
}

// Between any site and this one, one way or both.
void Harm::CutLink(Machine& machine) {
  const Site other = static_cast<Site>(world_.Pick(1, world_.sites()));
  if (other == machine.site()) return;
  const bool comes = world_.OneIn(2);
  const bool goes = !comes || world_.OneIn(2);
  const auto cut = [&](Site from, Site to) {
    world_.time().Tell(
        Concat("nothing comes from ", world_.NameOf(from), " to ", world_.NameOf(to)));
    world_.network().Cut(from, to);
    Heal(kCutMax, [this, from, to] {
      world_.time().Tell(Concat("the way from ", world_.NameOf(from), " to ", world_.NameOf(to),
                                " is open again"));
      world_.network().Heal(from, to);
    });
  };
  if (comes) cut(other, machine.site());
  if (goes) cut(machine.site(), other);
}

void Harm::BreakOne(Machine&) {
  if (const Network::Handle connection = world_.network().Any()) {
    world_.time().Tell("a connection breaks");
    world_.network().Break(connection);
  }
}

}  // namespace sluice::cluster
