// See one_master.h.
#include "tests/simulation/cluster/one_master.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kClientsAfterHarm = 2 * kSecond;
constexpr int64_t kEndAfterHarm = 10 * kSecond;

}  // namespace

void PlayOneMaster(uint64_t seed, const OneMasterKind& kind, OneMasterSums& sums) {
  World world(seed, kind.is_wild);
  Machine& server = world.Add({.name = "server", .config = kind.config});
  server.set_aside_max(kind.aside_max);
  server.Start();
  for (int i = 0; i < 4; ++i) world.AddClient<LockClient>(server);
  for (int i = 0; i < 2 && kind.has_plain_locks; ++i) world.AddClient<PlainLockClient>(server);
  for (int i = 0; i < 2; ++i) world.AddClient<RegisterClient>(server);
  world.AddClient<LimitClient>(server);
  world.set_clients_until(kind.harm_until + kClientsAfterHarm);
  Harm harm(world, kind.harm);
  harm.Begin(kind.harm_every, kind.harm_until);
  world.time().RunUntil(kind.harm_until + kEndAfterHarm);
  world.Audit();
  EXPECT_TRUE(server.is_up());
  const Promise promise{
      .drift_ppm = world.drift_ppm(), .kept = kind.kept, .standstills = server.standstills()};
  if (const auto complaint = Judge(world.records(), promise, &sums.searched))
    ADD_FAILURE() << *complaint;
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
  for (const Span& span : server.standstills())
    sums.longest_standstill = std::max(sums.longest_standstill, span.answer - span.call);
  sums.operations += world.records().operations();
  for (const auto& [key, lock] : world.records().locks) {
    for (const LockAttempt& attempt : lock.attempts) {
      sums.grants += attempt.answer == LockAttempt::Answer::kGranted ? 1 : 0;
      sums.unknown += attempt.answer == LockAttempt::Answer::kNone ? 1 : 0;
    }
  }
}

}  // namespace sluice::cluster
