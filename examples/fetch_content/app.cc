// A limit and a lock, in a program that has built Sluice along with itself.
#include <sluice/database.h>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
  sluice::Database db;
  if (!db.Take("user:17", sluice::Rolling{100, 60s})) return 1;
  const auto lock = db.Acquire("door", "worker-1", {.lease = 30s});
  if (!lock) return 1;
  std::printf("the door is mine, by token %lld\n", static_cast<long long>(lock.token()));
}
