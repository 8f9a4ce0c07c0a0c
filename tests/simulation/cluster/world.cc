// See world.h.
#include "tests/simulation/cluster/world.h"

#include <array>

#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kPpm = 200;
constexpr int64_t kWildPpm = 50'000;
constexpr int64_t kThinkMax = 400 * kMs;
// Errors of what was refused before it began.
constexpr std::array kRefusals = {"LOCKGRACE", "LOADING",    "MISCONF",   "NOREPLICAS",
                                  "READONLY",  "MASTERDOWN", "UNBLOCKED", "ERR no fencing token"};

}  // namespace

Client::Client(World& world, Callee& callee)
    : world_(world), caller_(world.time(), world.network(), world.NewSite()) {
  caller_.set_callee(callee);
}

void Client::Begin() { Think(); }

void Client::Think() {
  world_.time().After(world_.time().PickSpan(100, kThinkMax), [this] {
    if (!world_.clients_rest()) Act();
  });
}

void Client::Ask(const std::vector<std::string>& words, int64_t patience, Heard heard) {
  const int64_t call = world_.time().now();
  if (world_.finder() && !caller_.is_connected()) caller_.set_callee(world_.finder()());
  caller_.Ask(words, patience, [this, call, heard = std::move(heard)](const auto& reply) {
    heard(reply, {call, reply ? world_.time().now() : kNever});
    Think();
  });
}

bool Client::WasRefused(const std::optional<Reply>& reply) const {
  if (!reply) return !caller_.was_said();
  if (reply->kind != Reply::Kind::kError) return false;
  for (const char* const refusal : kRefusals) {
    if (reply->text.starts_with(refusal)) return true;
  }
  return false;
}

World::World(uint64_t seed, bool is_wild, int64_t skew_ms)
    : time_(seed), is_wild_(is_wild), skew_ms_(skew_ms) {}

// A clock that runs at 0.95 makes a second last 1.0526.
int64_t World::drift_ppm() const {
  const int64_t ppm = is_wild_ ? kWildPpm : kPpm;
  return ppm + ppm * ppm / (1'000'000 - ppm) + 1;
}

double World::PickRate() {
  const int64_t ppm = is_wild_ ? kWildPpm : kPpm;
  return 1 + static_cast<double>(Pick(-ppm, ppm)) / 1e6;
}

Machine& World::Add(Machine::Options options) {
  options.site = NewSite();
  options.unix_ms += Pick(-skew_ms_, skew_ms_);
  options.rate = PickRate();
  machines_.push_back(std::make_unique<Machine>(time_, network_, names_, std::move(options)));
  return *machines_.back();
}

std::string World::NameOf(Site site) const {
  for (const auto& machine : machines_) {
    if (machine->site() == site) return machine->name();
  }
  return Concat("the client at site ", site);
}

void World::Audit() {
  for (const auto& machine : machines_) {
    if (!machine->is_up()) continue;
    EXPECT_EQ(machine->engine().Audit(), "") << machine->name();
  }
}

void World::StartAnew() {
  constexpr int64_t kFindsOthers = 15 * kSecond;
  for (const auto& machine : machines_) machine->Stop();
  for (const auto& machine : machines_) machine->Start();
  time_.RunUntil(time_.now() + kFindsOthers);
}

}  // namespace sluice::cluster
