// See crowd_server.h.
#include "tools/microbench/crowd_server.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/net/process/allocator.h"

namespace sluice {
namespace {

int64_t ReadClock(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

std::string Request(const std::vector<std::string>& words) {
  std::string bytes = Concat("*", words.size(), "\r\n");
  for (const std::string& word : words) bytes += Concat("$", word.size(), "\r\n", word, "\r\n");
  return bytes;
}

std::string Line(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return Request(words);
}

}  // namespace

int64_t HalfManualClock::TickNanos() { return ReadClock(CLOCK_MONOTONIC); }

CrowdServer::CrowdServer()
    : Host(static_cast<ProcessServices&>(*this), static_cast<Background&>(*this)) {
  config_.Preset("maxclients", {"1000000"});
  EngineOptions options;
  options.seed = 1;
  options.process = std::make_shared<const ProcessFacts>(ProcessFacts{.executable = "crowds"});
  Host& host = *this;
  engine_ = std::make_unique<Engine>(config_, clock_, host, AllCommands(), options);
  client_ = Connect();
}

SessionId CrowdServer::Connect() {
  Peer peer;
  peer.address = "127.0.0.1:50000";
  peer.local_address = "127.0.0.1:6379";
  return engine_->Open(std::move(peer));
}

void CrowdServer::Send(SessionId id, std::string_view line) {
  const std::string request = Line(line);
  engine_->Receive(id, request);
  Settle();
}

void CrowdServer::Begin(std::string_view line) {
  const std::string request = Line(line);
  engine_->Receive(client_, request);
  Turn();
}

void CrowdServer::SendMany(int count, const std::function<std::string(int)>& line) {
  std::string requests;
  for (int i = 0; i < count; ++i) {
    requests += Line(line(i));
    if (i % 200 != 199 && i != count - 1) continue;
    engine_->Receive(client_, requests);
    Settle();
    requests.clear();
  }
}

std::vector<SessionId> CrowdServer::Crowd(int count, const std::function<std::string(int)>& line) {
  std::vector<SessionId> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(Connect());
    Send(clients.back(), line(i));
  }
  return clients;
}

void CrowdServer::Settle() {
  while (Turn() || DoInBackground() || engine_->NextWork() <= clock_.Sample().ms()) {
  }
}

uint64_t CrowdServer::Run(WorkerLane, std::function<void()> work, std::function<void()> done) {
  background_.push_back({++last_aside_, std::move(work), std::move(done)});
  return last_aside_;
}

void CrowdServer::Await(uint64_t number) {
  for (BackgroundTask& each : background_) {
    if (each.number > number) return;
    if (each.work) std::exchange(each.work, nullptr)();
    if (each.number == number) return std::exchange(each.done, nullptr)();
  }
}

bool CrowdServer::DoInBackground() {
  if (background_.empty()) return false;
  const BackgroundTask task = std::move(background_.front());
  background_.pop_front();
  if (task.work) task.work();
  const int64_t begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  if (task.done) task.done();
  Count(ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin);
  return true;
}

bool CrowdServer::Turn() {
  const int64_t begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  const bool left = engine_->RunTurn();
  Count(ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin);
  return left;
}

void CrowdServer::Drop(SessionId id) {
  const int64_t begin = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  engine_->Drop(id);
  Count(ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin);
}

void CrowdServer::Send(Session& session) {
  while (!session.output.empty()) {
    iovec vectors[16];
    const size_t count = session.output.Peek(vectors, 16);
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += vectors[i].iov_len;
    if (vectors[0].iov_len > 0 && *static_cast<const char*>(vectors[0].iov_base) == '-') {
      std::fprintf(stderr, "%.*s", static_cast<int>(std::min<size_t>(80, vectors[0].iov_len)),
                   static_cast<const char*>(vectors[0].iov_base));
    }
    bytes_sent_ += bytes;
    session.output.Consume(bytes);
  }
}

void CrowdServer::ReturnFreedAtOnce(bool on) { sluice::ReturnFreedAtOnce(on); }

void CrowdServer::Count(int64_t ns) {
  ++turns_;
  total_ns_ += ns;
  if (ns <= longest_ns_) return;
  longest_ns_ = ns;
  longest_at_ = turns_;
}

}  // namespace sluice
