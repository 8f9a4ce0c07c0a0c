// The power goes at every single call that changes the disk while a snapshot is saved, the log is
// written anew, turned on, or replaced after a failed sync; and what the disk then keeps of what
// was not synced is chance's. A start finds a whole image, or a beginning of the log: every write
// sets all keys to one number, so that a mixture shows at once. And it goes on from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/log/log_service.h"
#include "server/snapshots/snapshots.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kEveryCutSeeds = 60;  // each cuts some 170 times
constexpr int kEveryCutSteps = 30;
constexpr int64_t kStepMs = 60;
constexpr int64_t kFirst = 1;   // what is on disk before
constexpr int64_t kSecond = 2;  // what there is when the saving begins
constexpr int64_t kRefused = -1;

using CutWords = std::vector<std::string>;

struct Saving {
  const char* name;
  CutWords command;  // that begins it; none: a sync that has failed
  bool logged = false;
  const char* fsync = "always";
  bool turns_on = false;
  bool is_snapshot() const { return !logged && !turns_on; }
};

const Saving kSavings[] = {
    {.name = "SAVE", .command = {"SAVE"}},
    {.name = "BGSAVE", .command = {"BGSAVE"}},
    {.name = "a rewriting, always", .command = {"BGREWRITEAOF"}, .logged = true},
    {.name = "a rewriting, everysec",
     .command = {"BGREWRITEAOF"},
     .logged = true,
     .fsync = "everysec"},
    {.name = "the log is turned on",
     .command = {"CONFIG", "SET", "appendonly", "yes"},
     .turns_on = true},
    {.name = "a new base", .command = {}, .logged = true},
};

TestEngine::Options With(MemoryDisk& disk, const Saving& saving, bool logged) {
  TestEngine::Options options;
  options.disk = &disk;
  options.audits = false;
  options.config = {{"save", ""},
                    {"appendonly", logged ? "yes" : "no"},
                    {"appendfsync", saving.fsync},
                    {"rdb-key-save-delay", "5000"}};
  return options;
}

void SendNumber(TestClient& client, int64_t number) {
  client.Send({"EVAL",
               "for i = 0, 7 do redis.call('set', 'k' .. i, ARGV[1]) "
               "redis.call('hset', 'h', 'a long field ' .. i, ARGV[1]) end return ARGV[1] + 0",
               "0", std::to_string(number)});
}

// That of all keys; 0: there is none of them.
int64_t NumberOf(TestEngine& server) {
  std::set<std::string> numbers;
  TestClient& client = server.Connect();
  for (int i = 0; i < 8; ++i) {
    const std::string place = std::to_string(i);
    numbers.insert(client.Run({"GET", "k" + place}).ToText());
    numbers.insert(client.Run({"HGET", "h", "a long field " + place}).ToText());
  }
  EXPECT_EQ(numbers.size(), 1) << "a mixture";
  const std::string& first = *numbers.begin();
  return first == "(nil)" ? 0 : std::stoll(first.substr(1));
}

// What a start may find.
struct Bounds {
  int64_t least = 0;
  int64_t most = 0;
};

// A server that saves, and is written to meanwhile.
class Saver {
 public:
  Saver(MemoryDisk& disk, const Saving& saving)
      : disk_(disk), saving_(saving), server_(With(disk, saving, saving.logged)) {
    server_.engine().part<Snapshots>().set_pieces(100, 20);
    Write();
    if (!saving_.logged) admin_->Run({"SAVE"});
    Write();
    server_.AdvanceTime(2000);
    bounds_ = {.least = saving_.logged ? kSecond : kFirst, .most = kSecond};
    server_.set_aside_waits(true);
    if (saving_.command.empty()) FailASync();
  }

  // The power goes behind so many changes to the disk. Answers how many there were.
  int64_t Save(int64_t changes) {
    disk_.changes_left = changes;
    if (!saving_.command.empty()) admin_->Send(saving_.command);
    // What is answered OK is on disk: a start with a log finds at least the snapshot.
    const std::optional<Reply> reply = saving_.turns_on ? admin_->Next() : std::nullopt;
    if (saving_.turns_on && (!reply || reply->ToText() != "+OK")) bounds_.least = 0;
    for (int step = 0; step < kEveryCutSteps; ++step) {
      RunBackgroundNow(step % 2 == 0 ? WorkerLane::kLog : WorkerLane::kSnapshot);
      if (step % 4 == 1) Write();
      server_.AdvanceTime(kStepMs);
      Listen();
    }
    return changes - disk_.changes_left;
  }
  const Bounds& bounds() const { return bounds_; }
  // What was begun has come to its end.
  bool is_done() {
    const LogService& log = server_.engine().part<LogService>();
    if (saving_.is_snapshot()) return server_.engine().part<Snapshots>().saves() == 2;
    return log.stands() && log.rewrites() > 0;
  }

 private:
  void RunBackgroundNow(WorkerLane preferred) {
    if (!server_.RunBackgroundNow(preferred)) server_.RunBackgroundNow();
  }
  void Write() {
    if (client_->closed()) client_ = &server_.Connect();
    SendNumber(*client_, ++number_);
    if (!saving_.is_snapshot()) bounds_.most = number_;
  }
  void FailASync() {
    disk_.sync_fault = EIO;
    Write();
    server_.RunBackgroundNow();
    server_.Settle();
    disk_.sync_fault = 0;
  }
  void Listen() {
    const LogService& log = server_.engine().part<LogService>();
    const bool promises =
        log.is_on() && log.stands() && std::string_view(saving_.fsync) == "always";
    while (const std::optional<Reply> reply = client_->Next()) {
      const std::string text = reply->ToText();
      if (promises && text.starts_with(':'))
        bounds_.least = std::max<int64_t>(bounds_.least, std::stoll(text.substr(1)));
    }
    if (saving_.is_snapshot() && is_done()) bounds_.least = kSecond;
  }

  MemoryDisk& disk_;
  const Saving& saving_;
  TestEngine server_;
  TestClient* admin_ = &server_.Connect();
  TestClient* client_ = &server_.Connect();
  int64_t number_ = 0;
  Bounds bounds_;
};

// kRefused: it does not start.
int64_t Started(MemoryDisk& disk, const Saving& saving, bool logged) {
  TestEngine again(With(disk, saving, logged));
  if (!again.start_fault().empty()) return kRefused;
  again.Settle();
  EXPECT_FALSE(again.shutdown_code().has_value()) << again.log().back();
  const int64_t found = NumberOf(again);
  again.AdvanceTime(2000);
  // And all goes on: what the crash has left is in nobody's way.
  TestClient& client = again.Connect();
  SendNumber(client, found + 1);
  client.Send({logged ? "BGREWRITEAOF" : "SAVE"});
  again.AdvanceTime(2000);
  return found;
}

void Cut(const Saving& saving, uint64_t seed, int64_t changes) {
  SCOPED_TRACE("the power goes behind " + std::to_string(changes) + " changes to the disk");
  std::mt19937_64 chance(seed * 1000 + static_cast<uint64_t>(changes));
  MemoryDisk disk;
  Bounds bounds;
  {
    Saver saver(disk, saving);
    saver.Save(changes);
    bounds = saver.bounds();
    disk.changes_left = 0;
  }
  disk.PowerCut(chance);
  if (saving.turns_on) {
    MemoryDisk without = disk;
    EXPECT_EQ(Started(without, saving, false), kFirst) << "the snapshot of before";
  }
  const bool logged = !saving.is_snapshot();
  // Before there is anything of the log, a start with one refuses to be without the snapshot.
  const bool is_alone = saving.turns_on && disk.Match("/appendonlydir/*").empty();
  const int64_t found = Started(disk, saving, logged);
  if (is_alone && found == kRefused) return;
  EXPECT_GE(found, bounds.least);
  EXPECT_LE(found, bounds.most);
  EXPECT_EQ(Started(disk, saving, logged), found + 1);
}

void CutEverywhere(uint64_t seed) {
  for (const Saving& saving : kSavings) {
    SCOPED_TRACE(saving.name);
    MemoryDisk disk;
    Saver saver(disk, saving);
    const int64_t changes = saver.Save(INT64_MAX);
    ASSERT_TRUE(saver.is_done());
    for (int64_t at = 0; at <= changes && !testing::Test::HasFailure(); ++at) Cut(saving, seed, at);
  }
}

TEST(EveryCut, LeavesAWholeImageOrABeginningOfTheLog) { RunSeeds(kEveryCutSeeds, CutEverywhere); }

}  // namespace
}  // namespace sluice
