// What a key costs, all in: the growth of the process while counters with an 18-byte key and a
// deadline are put. Run it under each allocator:
//   storage_memory 2000000
//   LD_PRELOAD=libmimalloc.so.2 storage_memory 2000000
//   LD_PRELOAD=libjemalloc.so.2 storage_memory 2000000
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "storage/keyspace/keyspace.h"
#include "tests/support/null_observer.h"

namespace sluice {
namespace {

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void Report(size_t count) {
  NullObserver observer;
  TimerWheel wheel(0);
  Keyspace keyspace(16, SipKey{42}, wheel, observer);
  Random random(1);
  char key[32];
  keyspace.db(0);
  const size_t before = ResidentBytes();
  for (size_t i = 0; i < count; ++i) {
    const int length = std::snprintf(key, sizeof(key), "counter:%010zu", i);
    const HashedKey hashed = keyspace.Hash({key, static_cast<size_t>(length)});
    const int64_t deadline_ms = static_cast<int64_t>(1 + random() % 3'600'000);
    keyspace.db(0).PutInteger(hashed, 1 + i % 100, Deadline::Steady(deadline_ms), Now{});
  }
  const size_t after = ResidentBytes();
  const auto each = [count](size_t bytes) { return static_cast<double>(bytes) / count; };
  std::printf("%9zu keys: %6.2f bytes a key resident, %6.2f accounted\n", count,
              each(after - before), each(keyspace.memory_bytes()));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Report(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000);
  return 0;
}
