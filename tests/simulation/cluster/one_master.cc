// See one_master.h.
#include "tests/simulation/cluster/one_master.h"

#include <gtest/gtest.h>

#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kOneMasterHarmUntil = 20 * kSecond;
constexpr int64_t kOneMasterClientsUntil = 22 * kSecond;
constexpr int64_t kOneMasterEnd = 30 * kSecond;

}  // namespace

void PlayOneMaster(uint64_t seed, const OneMasterKind& kind, OneMasterSums& sums) {
  World world(seed, kind.is_wild);
  Machine& server = world.Add({.name = "server", .config = kind.config});
  server.set_aside_max(kind.aside_max);
  server.Start();
  for (int i = 0; i < 4; ++i) world.AddClient<LockClient>(server);
  for (int i = 0; i < 2; ++i) world.AddClient<PlainLockClient>(server);
  for (int i = 0; i < 2; ++i) world.AddClient<RegisterClient>(server);
  world.AddClient<LimitClient>(server);
  world.set_clients_until(kOneMasterClientsUntil);
  Harm harm(world, kind.harm);
  harm.Begin(2 * kSecond, kOneMasterHarmUntil);
  world.time().RunUntil(kOneMasterEnd);
  world.Audit();
  EXPECT_TRUE(server.is_up());
  const Promise promise{
      .drift_ppm = world.drift_ppm(), .kept = kind.kept, .standstills = server.standstills()};
  if (const auto complaint = Judge(world.records(), promise, &sums.searched))
    ADD_FAILURE() << *complaint;
  if (testing::Test::HasFailure()) ADD_FAILURE() << "what was done:\n" << world.time().Told();
  sums.operations += world.records().operations();
  for (const auto& [key, lock] : world.records().locks) {
    for (const LockAttempt& attempt : lock.attempts) {
      sums.grants += attempt.answer == LockAttempt::Answer::kGranted ? 1 : 0;
      sums.unknown += attempt.answer == LockAttempt::Answer::kNone ? 1 : 0;
    }
  }
}

}  // namespace sluice::cluster
