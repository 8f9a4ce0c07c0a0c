// What one operation of the storage layer takes, by number of keys. Build with
// -DSLUICE_MICROBENCH=ON. "Batched" is how the engine works: the keys of 32 requests are prefetched
// before the first runs.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/keyspace/keyspace.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

// 18-byte keys with a deadline and a small integer: what a limiter of requests would be.
struct Counters {
  explicit Counters(size_t count) : wheel(0), keyspace(16, SipKey{42}, wheel, observer) {
    Random random(1);
    for (size_t i = 0; i < count; ++i) {
      keys.push_back("counter:" + std::to_string(1'000'000'000 + i));
      db().PutInteger(keyspace.Hash(keys.back()), 1,
                      Deadline::Steady(1'000'000 + random() % 60'000), now);
    }
    for (int i = 0; i < 1 << 16; ++i) order.push_back(&keys[random() % count]);
  }
  Database& db() { return keyspace.db(0); }
  const std::string& Next() { return *order[next++ & (order.size() - 1)]; }

  NullObserver observer;
  Now now;
  TimerWheel wheel;
  Keyspace keyspace;
  std::vector<std::string> keys;
  std::vector<const std::string*> order;
  size_t next = 0;
};

Counters& SharedCounters(size_t count) {
  static std::unique_ptr<Counters> counters;  // one at a time: two million take 200 MB
  if (counters == nullptr || counters->keys.size() != count) {
    counters.reset();
    counters = std::make_unique<Counters>(count);
  }
  return *counters;
}

void Hash(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(world.keyspace.Hash(world.Next()));
}

void Find(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(world.db().Find(world.keyspace.Hash(world.Next()), world.now));
}

template <typename Visit>
void Batched(benchmark::State& state, Visit visit) {
  Counters& world = SharedCounters(state.range(0));
  constexpr size_t kBatch = 32;
  HashedKey keys[kBatch];
  const PackedPointer* slots[kBatch];
  Database& db = world.db();
  while (state.KeepRunningBatch(kBatch)) {
    for (HashedKey& key : keys) db.Prefetch(key = world.keyspace.Hash(world.Next()));
    for (size_t i = 0; i < kBatch; ++i) slots[i] = db.PrefetchSlot(keys[i]);
    for (const PackedPointer* slot : slots) {
      if (slot != nullptr) Database::PrefetchEntry(*slot);
    }
    for (HashedKey& key : keys) visit(world, db, key);
  }
}

void FindBatched(benchmark::State& state) {
  Batched(state, [](Counters& world, Database& db, HashedKey key) {
    benchmark::DoNotOptimize(db.Find(key, world.now));
  });
}

void IncrementBatched(benchmark::State& state) {
  Batched(state, [](Counters& world, Database& db, HashedKey key) {
    Entry* entry = db.Modify(key, world.now);
    db.SetInteger(*entry, entry->integer() + 1);
  });
}

void ExpireBatched(benchmark::State& state) {
  Batched(state, [](Counters& world, Database& db, HashedKey key) {
    db.SetDeadline(*db.Modify(key, world.now), Deadline::Steady(1'000'000 + key.hash % 60'000));
  });
}

void PutSameSizeText(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  const std::string_view texts[] = {"value-one", "value-two"};
  HashedKey keys[64];
  for (HashedKey& key : keys) {
    key = world.keyspace.Hash(world.Next());
    world.db().PutText(key, texts[0], Deadline::None(), world.now);
  }
  size_t i = 0;
  for (auto _ : state) {
    ++i;
    world.db().PutText(keys[i & 63], texts[i >> 6 & 1], Deadline::None(), world.now);
  }
}

void PutNewAndDelete(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  const HashedKey key = world.keyspace.Hash("some key that is new");
  for (auto _ : state) {
    world.db().PutInteger(key, 1, Deadline::Steady(1'000'000), world.now);
    world.db().Delete(key, world.now);
  }
}

void Scan10(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  uint64_t cursor = 0;
  for (auto _ : state) cursor = world.db().Scan(cursor, 10, [](const Entry&) {});
}

void RandomEntry(benchmark::State& state) {
  Counters& world = SharedCounters(state.range(0));
  Random random(1);
  for (auto _ : state) benchmark::DoNotOptimize(world.db().RandomEntry(random));
}

int64_t ThreadNanos() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Fills a keyspace from nothing.
void Fill(benchmark::State& state) {
  for (auto _ : state) {
    NullObserver observer;
    TimerWheel wheel(0);
    Keyspace keyspace(1, SipKey{42}, wheel, observer);
    for (int64_t i = 0; i < state.range(0); ++i) {
      const std::string key = "counter:" + std::to_string(1'000'000'000 + i);
      keyspace.db(0).PutInteger(keyspace.Hash(key), 1, Deadline::Steady(1'000'000), Now{});
    }
    state.PauseTiming();
    keyspace.Flush(0, false);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// The same with every insert timed: the slow ones are splits (CPU time, so no preemption in it).
void SlowestInserts(benchmark::State& state) {
  std::vector<int64_t> took;
  for (auto _ : state) {
    NullObserver observer;
    TimerWheel wheel(0);
    Keyspace keyspace(1, SipKey{42}, wheel, observer);
    for (int64_t i = 0; i < state.range(0); ++i) {
      const std::string key = "counter:" + std::to_string(1'000'000'000 + i);
      const HashedKey hashed = keyspace.Hash(key);
      const int64_t before = ThreadNanos();
      keyspace.db(0).PutInteger(hashed, 1, Deadline::Steady(1'000'000), Now{});
      took.push_back(ThreadNanos() - before);
    }
  }
  std::sort(took.begin(), took.end(), std::greater<>());
  for (const size_t rank : {0, 10, 100, 1000, 10'000})
    state.counters["us_" + std::to_string(rank)] = static_cast<double>(took[rank]) / 1000;
}

void ExpireAll(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Counters world(state.range(0));
    state.ResumeTiming();
    Now now;
    now.steady_us = 2'000'000'000;
    world.wheel.Advance(now.ms(), SIZE_MAX,
                        [&](TimerNode& node) { world.keyspace.TimerFired(node, now); });
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void WheelMove(benchmark::State& state) {
  TimerWheel wheel(0);
  std::vector<TimerNode> nodes(1 << 16);
  Random random(1);
  for (TimerNode& node : nodes) wheel.Insert(node, TimerKind::kTask, 1 + random() % 100'000);
  size_t i = 0;
  for (auto _ : state) {
    ++i;
    wheel.Move(nodes[i & 0xffff], static_cast<int64_t>(1 + (i * 7919) % 100'000));
  }
}

#define AT_SIZES(name) BENCHMARK(name)->Arg(1'000)->Arg(100'000)->Arg(2'000'000)
#define AT_LARGE(name) BENCHMARK(name)->Arg(100'000)->Arg(2'000'000)
AT_SIZES(Hash);
AT_SIZES(Find);
AT_SIZES(FindBatched);
AT_SIZES(IncrementBatched);
AT_SIZES(ExpireBatched);
AT_SIZES(PutNewAndDelete);
AT_LARGE(Scan10);
AT_LARGE(RandomEntry);
AT_SIZES(PutSameSizeText);
BENCHMARK(Fill)->Arg(100'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(SlowestInserts)->Arg(2'000'000)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(ExpireAll)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(2);
BENCHMARK(WheelMove);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
