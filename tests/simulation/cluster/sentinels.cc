// See sentinels.h.
#include "tests/simulation/cluster/sentinels.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kSentinelEvery = kSecond;
constexpr int64_t kSentinelPatience = 900 * kMs;
constexpr int64_t kDownAfter = 3 * kSecond;
constexpr int64_t kFailoverTimeout = 10 * kSecond;
constexpr int64_t kWrongAfter = 8 * kSecond;  // so long it may be what it should not be
constexpr int64_t kNoMasterAfter = kDownAfter + 2 * kSecond;  // the same of a master
constexpr int64_t kPriorityUnsaid = 100;                      // a master names none

std::string FieldOfInfo(std::string_view info, const std::string& name) {
  const std::string line = "\n" + name + ":";
  const size_t at = info.find(line);
  if (at == std::string_view::npos) return "";
  const size_t begin = at + line.size();
  return std::string(info.substr(begin, info.find('\r', begin) - begin));
}

}  // namespace

Sentinels::Sentinels(World& world, int count) : world_(world), quorum_(count / 2 + 1) {
  for (int i = 0; i < count; ++i) {
    sentinels_.push_back(std::make_unique<Sentinel>());
    Sentinel& one = *sentinels_.back();
    one.site = world.NewSite();
    for (const auto& machine : world.machines()) {
      one.seen.push_back({.machine = machine.get()});
      Seen& seen = one.seen.back();
      seen.caller = std::make_unique<Caller>(world.time(), world.network(), one.site);
      seen.caller->set_callee(*machine);
    }
    one.master = &one.seen.front();
  }
}

void Sentinels::Begin() {
  for (const auto& one : sentinels_)
    world_.time().After(world_.Pick(1, kSentinelEvery), [this, &one] { Tick(*one); });
}

Machine& Sentinels::MasterAsSaid() {
  const auto last = static_cast<int64_t>(sentinels_.size()) - 1;
  return *sentinels_[static_cast<size_t>(world_.Pick(0, last))]->master->machine;
}

Machine* Sentinels::Agreed() const {
  Machine* const master = sentinels_.front()->master->machine;
  const bool agree = std::ranges::all_of(
      sentinels_, [master](const auto& one) { return one->master->machine == master; });
  return agree ? master : nullptr;
}

void Sentinels::Tick(Sentinel& one) {
  for (Seen& seen : one.seen) {
    if (seen.caller->is_waiting()) continue;
    seen.caller->Ask({"INFO", "ALL"}, kSentinelPatience, [this, &one, &seen](const auto& reply) {
      if (reply && reply->kind != Reply::Kind::kError) Read(one, seen, "\n" + reply->text);
    });
  }
  Gossip(one);
  const bool may_begin = world_.time().now() >= one.next_attempt;
  if (may_begin) one.promoting = nullptr;
  if (may_begin && IsMasterDown(one)) Promote(one);
  world_.time().After(world_.Pick(kSentinelEvery * 9 / 10, kSentinelEvery * 11 / 10),
                      [this, &one] { Tick(one); });
}

// --- what it sees

void Sentinels::Read(Sentinel& one, Seen& seen, const std::string& info) {
  seen.answered_at = world_.time().now();
  seen.is_master = FieldOfInfo(info, "role") == "master";
  seen.follows = FieldOfInfo(info, "master_host");
  seen.run_id = FieldOfInfo(info, "run_id");
  const std::string priority = FieldOfInfo(info, "slave_priority");
  seen.priority = priority.empty() ? kPriorityUnsaid : std::stoll("0" + priority);
  seen.offset = std::stoll("0" + FieldOfInfo(info, "slave_repl_offset"));
  if (&seen == one.promoting && seen.is_master) {
    one.master = std::exchange(one.promoting, nullptr);
    one.epoch = one.promoting_epoch;
    ++promotions_;
    world_.time().Tell(Concat(seen.machine->name(), " is master of epoch ", one.epoch));
  }
  const bool is_right = &seen == one.master
                            ? seen.is_master
                            : !seen.is_master && seen.follows == one.master->machine->name();
  if (is_right) {
    seen.wrong_since = -1;
  } else if (seen.wrong_since < 0) {
    seen.wrong_since = seen.answered_at;
  } else {
    Correct(one, seen);
  }
}

bool Sentinels::IsDown(const Seen& seen) const {
  return world_.time().now() - seen.answered_at > kDownAfter;
}

// One that says for long that it is a replica is none, whoever has told it so.
bool Sentinels::IsMasterDown(const Sentinel& one) const {
  const Seen& master = *one.master;
  return IsDown(master) ||
         (master.wrong_since >= 0 && world_.time().now() - master.wrong_since > kNoMasterAfter);
}

bool Sentinels::Reaches(const Sentinel& one, const Sentinel& other) const {
  return !world_.network().is_cut(one.site, other.site) &&
         !world_.network().is_cut(other.site, one.site);
}

void Sentinels::Gossip(Sentinel& one) {
  const auto master = static_cast<size_t>(one.master - one.seen.data());
  for (const auto& other : sentinels_) {
    if (other->epoch >= one.epoch || !Reaches(one, *other)) continue;
    other->epoch = one.epoch;
    other->master = &other->seen[master];
    other->promoting = nullptr;
  }
}

// --- what it does

void Sentinels::Promote(Sentinel& one) {
  int down = 0;
  int64_t epoch = 0;
  for (const auto& other : sentinels_) {
    if (!Reaches(one, *other)) continue;
    epoch = std::max({epoch, other->epoch, other->voted_in});
    const bool is_same = other->master->machine == one.master->machine;
    down += is_same && IsMasterDown(*other) ? 1 : 0;
  }
  if (down < quorum_) return;
  ++epoch;
  int votes = 0;
  for (const auto& other : sentinels_) {
    if (!Reaches(one, *other) || other->voted_in >= epoch) continue;
    other->voted_in = epoch;
    other->next_attempt = world_.time().now() + world_.Pick(1, 2) * kFailoverTimeout;
    ++votes;
  }
  Seen* const best = votes >= quorum_ ? Best(one) : nullptr;
  if (!best) return;
  one.promoting = best;
  one.promoting_epoch = epoch;
  world_.time().Tell(Concat("a sentinel promotes ", best->machine->name()));
  Say(one, *best->machine, {"SLAVEOF", "NO", "ONE"});
}

// Among those that answer and may be promoted: the lowest priority, then the largest offset. One
// that says it is a master names neither, and is chosen where no replica is as good.
Sentinels::Seen* Sentinels::Best(Sentinel& one) {
  Seen* best = nullptr;
  for (Seen& seen : one.seen) {
    if (&seen == one.master || IsDown(seen) || seen.priority == 0) continue;
    if (!best || std::tuple(seen.priority, -seen.offset, seen.run_id) <
                     std::tuple(best->priority, -best->offset, best->run_id))
      best = &seen;
  }
  return best;
}

// Only where the master is there: else it may be about to be another.
void Sentinels::Correct(Sentinel& one, Seen& seen) {
  const bool waits = world_.time().now() - seen.wrong_since < kWrongAfter;
  if (waits || one.promoting || &seen == one.master) return;
  if (IsDown(*one.master) || !one.master->is_master) return;
  world_.time().Tell(
      Concat(seen.machine->name(), " is told to follow ", one.master->machine->name()));
  Say(one, *seen.machine, {"SLAVEOF", one.master->machine->name(), "6379"});
  seen.wrong_since = -1;
}

// A talk that fails is begun again, when its outcome is not seen.
void Sentinels::Say(Sentinel& one, Machine& machine, std::vector<std::string> role) {
  std::erase_if(talks_,
                [](const auto& talk) { return talk->left.empty() && !talk->caller->is_waiting(); });
  talks_.push_back(std::make_unique<Talk>());
  Talk& talk = *talks_.back();
  talk.caller = std::make_unique<Caller>(world_.time(), world_.network(), one.site);
  talk.caller->set_callee(machine);
  talk.left = {{"EXEC"},
               {"CLIENT", "KILL", "TYPE", "pubsub"},
               {"CLIENT", "KILL", "TYPE", "normal"},
               {"CONFIG", "REWRITE"},
               std::move(role),
               {"MULTI"}};
  SayNext(talk);
}

void Sentinels::SayNext(Talk& talk) {
  const std::vector<std::string> words = std::move(talk.left.back());
  talk.left.pop_back();
  talk.caller->Ask(words, kSentinelPatience, [this, &talk](const auto& reply) {
    if (!reply) talk.left.clear();
    if (!talk.left.empty()) SayNext(talk);
  });
}

}  // namespace sluice::cluster
