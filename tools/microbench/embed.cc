// What a database costs inside a program, beside its bars; exit status 1 if one is passed.
//
//   build/tools/microbench/embed [build/sluice]
//
// GET of a random key of 100,000 beside a look-up in an absl::flat_hash_map of the same keys; a
// database made and destroyed, in time and memory; INCR of a SharedDatabase by one thread and by
// eight beside that of a Database; and, with a server's binary, LIMIT.TAKE beside the CPU that the
// server and a client that pipelines 64 over loopback take for it. That client has its requests
// ready and only counts replies. Everything is measured in turn, round after round, and the best of
// each counts.
#include <arpa/inet.h>
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/embed/database.h"
#include "server/embed/shared_database.h"

namespace {

constexpr int kRounds = 7;
constexpr size_t kKeys = 100'000;
constexpr size_t kLookups = 400'000;
constexpr int kTakes = 128 * 1024;
constexpr int kPipeline = 64;
constexpr int kIncrs = 400'000;
constexpr int kThreads = 8;

int64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}
int64_t CpuNanos() { return Nanos(CLOCK_PROCESS_CPUTIME_ID); }

bool failed = false;

void Report(const char* what, double value, double bar, const char* unit) {
  std::printf("%-52s %9.2f %-4s bar %.2f%s\n", what, value, unit, bar,
              value <= bar ? "" : "   PASSED IT");
  failed |= value > bar;
}

// --- GET

void Get() {
  std::vector<std::string> keys;
  absl::flat_hash_map<std::string, std::string> map;
  sluice::Database db;
  for (size_t i = 0; i < kKeys; ++i) {
    keys.push_back("user:" + std::to_string(1'000'000 + i * 7919 % kKeys) + ":session");
    map[keys.back()] = std::to_string(i);
    db.Run({"SET", keys.back(), std::to_string(i)});
  }
  std::mt19937 random(1);
  std::vector<uint32_t> order(kLookups);
  for (uint32_t& each : order) each = static_cast<uint32_t>(random() % kKeys);
  double bare = 1e9, run = 1e9, get = 1e9;
  size_t found = 0;
  for (int round = 0; round < kRounds; ++round) {
    int64_t begin = CpuNanos();
    for (const uint32_t each : order) found += map.find(keys[each])->second.size();
    bare = std::min(bare, static_cast<double>(CpuNanos() - begin) / kLookups);
    begin = CpuNanos();
    for (const uint32_t each : order) found += db.Run({"GET", keys[each]}).text().size();
    run = std::min(run, static_cast<double>(CpuNanos() - begin) / kLookups);
    begin = CpuNanos();
    for (const uint32_t each : order) found += db.Get(keys[each])->size();
    get = std::min(get, static_cast<double>(CpuNanos() - begin) / kLookups);
  }
  std::printf("%zu bytes found; flat_hash_map %.1f ns, Run GET %.1f ns, Get %.1f ns\n", found, bare,
              run, get);
  Report("Run({\"GET\", key}) / flat_hash_map::find", run / bare, 4, "");
  Report("Get(key) / flat_hash_map::find", get / bare, 4, "");
}

// --- a life

void Life() {
  double best_us = 1e9;
  constexpr int kLives = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin = CpuNanos();
    for (int i = 0; i < kLives; ++i) {
      sluice::Database db;
    }
    best_us = std::min(best_us, static_cast<double>(CpuNanos() - begin) / kLives / 1000);
  }
  Report("a Database made and destroyed", best_us, 20, "us");
  std::vector<sluice::Database> many;
  many.reserve(256);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 256; ++i) many.emplace_back();
  Report("a Database, empty", static_cast<double>(mallinfo2().uordblks - before) / 256 / 1024, 16,
         "KiB");
}

// --- several threads

// CPU of an INCR, where so many threads have a share of them.
template <class AnyDatabase>
double IncrNanos(AnyDatabase& db, int threads) {
  const int64_t begin = CpuNanos();
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      for (int i = 0; i < kIncrs / threads; ++i) db.Run({"INCR", "n"});
    });
  }
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(CpuNanos() - begin) / kIncrs;
}

void Shared() {
  sluice::Database plain;
  sluice::SharedDatabase shared;
  double alone = 1e9, locked = 1e9, contended = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    alone = std::min(alone, IncrNanos(plain, 1));
    locked = std::min(locked, IncrNanos(shared, 1));
    contended = std::min(contended, IncrNanos(shared, kThreads));
  }
  std::printf("INCR: Database %.1f ns, SharedDatabase %.1f ns, by %d threads %.1f ns\n", alone,
              locked, kThreads, contended);
  Report("what SharedDatabase adds to a call", locked - alone, 50, "ns");
  Report("what it adds to one of eight threads", contended - alone, 200, "ns");
}

// --- LIMIT.TAKE

// A server on a free port, told to end when it goes.
class Server {
 public:
  explicit Server(const char* binary) {
    int line[2];
    if (::pipe(line) < 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(line[1], 1);
      ::execl(binary, binary, "--port", "any", "--save", "", "--fence-mark-file", "", nullptr);
      ::_exit(127);
    }
    ::close(line[1]);
    std::string text;
    char c;
    while (::read(line[0], &c, 1) == 1 && c != '\n') text.push_back(c);
    port_ = std::atoi(text.c_str() + text.rfind(':') + 1);
    ::clock_getcpuclockid(pid_, &clock_);
  }
  ~Server() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  int Connect() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) std::abort();
    return socket;
  }
  int64_t cpu_nanos() const { return Nanos(clock_); }

 private:
  pid_t pid_;
  int port_ = 0;
  clockid_t clock_;
};

// Until so many replies of six integers are there.
void ReadReplies(int socket, int replies) {
  char buffer[64 * 1024];
  int lines = replies * 7;
  while (lines > 0) {
    const ssize_t got = ::read(socket, buffer, sizeof buffer);
    if (got <= 0) std::abort();
    lines -= static_cast<int>(std::count(buffer, buffer + got, '\n'));
  }
}

void Take(const char* binary) {
  const Server server(binary);
  const int socket = server.Connect();
  std::vector<std::string> keys, batches;
  for (int i = 0; i < 1024; ++i) keys.push_back("user:" + std::to_string(1'000'000 + i));
  for (int i = 0; i < 1024; i += kPipeline) {
    std::string& batch = batches.emplace_back();
    for (int j = i; j < i + kPipeline; ++j) {
      batch += "*5\r\n$10\r\nLIMIT.TAKE\r\n$" + std::to_string(keys[j].size()) + "\r\n" + keys[j] +
               "\r\n$7\r\nROLLING\r\n$7\r\n1000000\r\n$9\r\n360000000\r\n";
    }
  }
  sluice::Database db;
  const sluice::Rolling limit{1'000'000, std::chrono::hours(100)};
  double loopback = 1e9, at_server = 1e9, inside = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t server_begin = server.cpu_nanos();
    int64_t begin = CpuNanos();
    for (int i = 0; i < kTakes / kPipeline; ++i) {
      const std::string& batch = batches[static_cast<size_t>(i) % batches.size()];
      if (::write(socket, batch.data(), batch.size()) < 0) std::abort();
      ReadReplies(socket, kPipeline);
    }
    const int64_t server_took = server.cpu_nanos() - server_begin;
    at_server = std::min(at_server, static_cast<double>(server_took) / kTakes);
    loopback = std::min(loopback, static_cast<double>(server_took + CpuNanos() - begin) / kTakes);
    begin = CpuNanos();
    int refused = 0;
    for (int i = 0; i < kTakes; ++i)
      refused += !db.Take(keys[static_cast<size_t>(i) % 1024], limit);
    inside = std::min(inside, static_cast<double>(CpuNanos() - begin) / kTakes);
    if (refused > 0) std::abort();
  }
  ::close(socket);
  std::printf(
      "LIMIT.TAKE: %.0f ns of CPU over loopback (p64), %.0f of it a server's; %.0f inside\n",
      loopback, at_server, inside);
  Report("Take / LIMIT.TAKE over loopback (p64)", inside / loopback, 0.25, "");
}

}  // namespace

int main(int argc, char** argv) {
  Get();
  Life();
  Shared();
  if (argc > 1) Take(argv[1]);
  return failed ? 1 : 0;
}
