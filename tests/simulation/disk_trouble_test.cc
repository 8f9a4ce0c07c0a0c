// A log over disks in trouble: not one fault, but one after the other, at every kind of call, with
// recovery between them, while the log is written anew, turned off and on, synced in other ways,
// and removed by hand. Servers are killed, stopped, or lose their power in the midst, and start
// again on what is left.
//
// The clients' own records are the judge. Each write adds its number to a list and counts it in two
// keys. What was acknowledged is there, as far as the policy promises; nothing is there twice, or
// in one of the three alone; and no start refuses what a server has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/dispatch/log_state.h"
#include "server/log/commit_log.h"
#include "server/log/log_service.h"
#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

constexpr uint64_t kTroubleSeeds = 3'000;
constexpr int kTroubleLives = 3;
constexpr int64_t kTroubleSteps = 60;

using Call = MemoryDisk::Call;
using Numbers = std::set<int64_t>;
using TroubleWords = std::vector<std::string>;

// --- the disk

// What goes wrong together, and how it is said.
struct TroubleKind {
  int fault;
  std::vector<Call> calls;
};
const TroubleKind kTroubleKinds[] = {
    {ENOSPC, {Call::kAppend, Call::kReplace}},
    {ENOSPC, {Call::kAppend, Call::kReplace, Call::kOpen, Call::kMakeFolder}},
    {ENOSPC, {Call::kAppend}},
    {EROFS,
     {Call::kOpen, Call::kAppend, Call::kTruncate, Call::kRename, Call::kRemove, Call::kMakeFolder,
      Call::kReplace}},
    {EIO, {Call::kAppend}},
    {EIO, {Call::kAppend, Call::kTruncate}},
    {EIO, {Call::kSync}},
    {EIO, {Call::kSync, Call::kSyncFolder}},
    {EIO, {Call::kSyncFolder}},
    {EIO, {Call::kRename}},
    {EIO, {Call::kRemove}},
    {EMFILE, {Call::kOpen}},
    {EIO, {Call::kReplace}},
    {EIO, {Call::kReplaced}},
    {EIO, {Call::kTruncate, Call::kAppend, Call::kSync, Call::kReplace, Call::kOpen}},
};

// A disk that is in trouble for some calls, or until it is mended. What says that the log is unsure
// is spared: where neither can be written nobody can know.
class TroubledDisk {
 public:
  explicit TroubledDisk(SimulationRandom& random) : random_(random) {
    disk_.trouble = [this](Call call, const std::string& path) { return Fault(call, path); };
  }
  MemoryDisk& disk() { return disk_; }
  void Trouble() {
    kind_ = &kTroubleKinds[Between(random_, 0, std::size(kTroubleKinds) - 1)];
    // For a moment, or for long.
    calls_left_ = Between(random_, 0, 2) > 0 ? Between(random_, 1, 4) : INT64_MAX;
    disk_.taken = Between(random_, 0, 1) == 0 ? 0 : Between(random_, 1, 40);
  }
  void Mend() { kind_ = nullptr; }

 private:
  int Fault(Call call, const std::string& path) {
    if (!kind_ || path.ends_with("fence.mark")) return 0;
    if (std::ranges::find(kind_->calls, call) == kind_->calls.end()) return 0;
    const int fault = kind_->fault;
    if (--calls_left_ == 0) Mend();
    return fault;
  }

  SimulationRandom& random_;
  MemoryDisk disk_;
  const TroubleKind* kind_ = nullptr;  // null: all is well
  int64_t calls_left_ = 0;
};

// --- what clients know

struct TroubleRecord {
  Numbers asked;
  Numbers answered;    // or found by a start
  Numbers over_kill;   // what is to be found behind a kill -9,
  Numbers over_power;  // or a power cut
  Numbers saved;       // in a snapshot, which counts before there is a log
  int64_t last = 0;
  bool had_log = false;
  bool has_no = false;    // it was `appendfsync no` for a while
  bool may_tear = false;  // under `no` a power cut leaves what a person has to cut
  bool is_lost = false;   // somebody has removed files, and they are not written anew yet
};

TestEngine::Options TroubledOptions(MemoryDisk& disk, const std::string& fsync, bool logged) {
  TestEngine::Options options;
  options.disk = &disk;
  options.audits = false;
  options.config = {{"save", ""},
                    {"appendonly", logged ? "yes" : "no"},
                    {"appendfsync", fsync},
                    {"auto-aof-rewrite-percentage", "0"},
                    {"rdb-key-save-delay", "9000"}};
  return options;
}

// One server, up to its end.
class TroubledLife {
 public:
  TroubledLife(TroubledDisk& disk, TroubleRecord& record, SimulationRandom& random, bool logged)
      : disk_(disk),
        record_(record),
        random_(random),
        fsync_(Policy()),
        server_(std::make_unique<TestEngine>(TroubledOptions(disk.disk(), fsync_, logged))) {
    if (!server_->start_fault().empty()) return;
    server_->Settle();
    if (server_->shutdown_code()) return;
    admin_ = &server_->Connect();
    for (TestClient*& client : clients_) client = &server_->Connect();
    Look();
    server_->set_aside_waits(true);
  }

  // False: it ends at once, as it cannot start.
  bool lives() const { return admin_ != nullptr; }
  void Live() {
    for (int64_t step = Between(random_, 0, kTroubleSteps); step > 0; --step) {
      if (server_->shutdown_code()) return;
      Step();
      Look();
    }
  }
  // As SIGTERM does.
  void Finish() {
    if (Between(random_, 0, 1) == 0) disk_.Mend();
    const bool is_done = server_->engine().FinishLog();
    Listen();
    if (is_done && log().is_on()) record_.over_kill = record_.over_power = record_.answered;
  }

 private:
  std::string Policy() {
    const char* const policies[] = {"always", "always", "everysec", "no"};
    return policies[Between(random_, 0, 3)];
  }
  LogService& log() { return server_->engine().part<LogService>(); }
  TestClient& Client() {
    TestClient*& client = clients_[Between(random_, 0, 2)];
    if (client->closed()) client = &server_->Connect();
    return *client;
  }
  TestClient& Admin() {
    if (admin_->closed()) admin_ = &server_->Connect();
    admin_->TakeBytes();
    return *admin_;
  }

  void Step() {
    const int64_t choice = Between(random_, 0, 99);
    if (choice < 40) return Write();
    if (choice < 70) return RunInBackground();
    if (choice < 80) return server_->AdvanceTime(Between(random_, 0, 3) > 0 ? 1000 : 50);
    if (choice < 87) return disk_.Trouble();
    if (choice < 93) return disk_.Mend();
    if (choice < 96) return Admin().Send({"BGREWRITEAOF"});
    if (choice < 97) return Save();
    if (choice < 98) return ChangePolicy();
    if (choice < 99 || Between(random_, 0, 3) > 0) return SwitchLog();
    RemoveFiles();
  }
  void Write() {
    const std::string number = std::to_string(++record_.last);
    record_.asked.insert(record_.last);
    Client().Send({"EVAL",
                   "redis.call('incr','a') redis.call('rpush','l',ARGV[1]) redis.call('incr','b') "
                   "return tonumber(ARGV[1])",
                   "0", number});
  }
  void RunInBackground() {
    const bool log_first = Between(random_, 0, 1) == 0;
    if (!server_->RunBackgroundNow(log_first ? WorkerLane::kLog : WorkerLane::kSnapshot))
      server_->RunBackgroundNow();
    server_->Settle();
  }
  void Save() {
    TestClient& admin = Admin();
    if (Between(random_, 0, 1) == 0) return admin.Send({"BGSAVE"});
    const Numbers now = record_.answered;
    admin.Send({"SAVE"});
    const std::optional<Reply> reply = admin.Next();
    if (reply && reply->ToText() == "+OK") record_.saved = now;
  }
  // What is told in this step may have been told under either.
  void ChangePolicy() {
    const std::string before = std::exchange(fsync_, "no");
    const std::string after = Policy();
    Admin().Send({"CONFIG", "SET", "appendfsync", after});
    Look();
    fsync_ = after;
  }
  void SwitchLog() {
    const bool on = !server_->config().settings().appendonly;
    TestClient& admin = Admin();
    admin.Send({"CONFIG", "SET", "appendonly", on ? "yes" : "no"});
    const std::optional<Reply> reply = admin.Next();
    // From here on a start with a log finds the snapshot, at least, where there was no log before.
    const bool is_first = !disk_.disk().files.contains("/appendonlydir/appendonly.aof.manifest");
    if (on && is_first && reply && reply->ToText() == "+OK" && !record_.had_log)
      record_.over_kill = record_.over_power = record_.saved;
  }
  // Somebody does, under the server.
  void RemoveFiles() {
    MemoryDisk& disk = disk_.disk();
    const std::vector<std::string> files = disk.Match("/appendonlydir/*");
    if (files.empty()) return;
    if (Between(random_, 0, 1) == 0) {
      disk.RemoveFolder("/appendonlydir");
    } else {
      disk.RemoveFile(files[Between(random_, 0, files.size() - 1)]);
    }
    record_.is_lost = true;
    record_.over_kill.clear();
    record_.over_power.clear();
    rewrites_ = log().rewrites();
    doubts_ = log().commits().doubts();
  }

  // True: there was an answer to a write.
  bool Listen() {
    const size_t before = record_.answered.size();
    for (TestClient* client : clients_) {
      while (const std::optional<Reply> reply = client->Next()) {
        const std::string text = reply->ToText();
        if (text.starts_with(':')) record_.answered.insert(std::stoll(text.substr(1)));
      }
    }
    return record_.answered.size() > before;
  }
  // What the log promises now.
  void Look() {
    const bool is_told = Listen();
    record_.has_no |= fsync_ == "no";
    const CommitLog& commits = log().commits();
    if (!log().is_on() || !log().stands() || commits.is_unsure()) return;
    if (record_.is_lost) {
      if (commits.doubts() == doubts_ || log().rewrites() == rewrites_) return;
      record_.is_lost = false;
    }
    record_.had_log = true;
    record_.over_kill = record_.answered;
    const bool is_sound = !server_->engine().part<LogState>().is_unsure;
    // What is answered under `always` is on disk, and so is all before it.
    if (is_sound && ((fsync_ == "always" && is_told) || log().IsAllDurable()))
      record_.over_power = record_.answered;
  }

  TroubledDisk& disk_;
  TroubleRecord& record_;
  SimulationRandom& random_;
  std::string fsync_;
  std::unique_ptr<TestEngine> server_;
  TestClient* admin_ = nullptr;
  TestClient* clients_[3] = {};
  uint64_t rewrites_ = 0;  // when files were removed
  uint64_t doubts_ = 0;
};

// --- and what a start finds

Numbers FoundNumbers(TestEngine& server) {
  TestClient& client = server.Connect();
  const Reply list = client.Run({"LRANGE", "l", "0", "-1"});
  Numbers found;
  for (const Reply& element : list.elements) found.insert(std::stoll(element.text));
  EXPECT_EQ(found.size(), list.elements.size()) << "a write is there twice";
  const std::string count =
      found.empty() ? "(nil)" : "\"" + std::to_string(list.elements.size()) + "\"";
  EXPECT_EQ(client.Run({"GET", "a"}).ToText(), count) << "half of a script";
  EXPECT_EQ(client.Run({"GET", "b"}).ToText(), count) << "half of a script";
  return found;
}

std::string Missing(const Numbers& promised, const Numbers& found) {
  std::string missing;
  for (const int64_t number : promised) {
    if (!found.contains(number)) missing += " " + std::to_string(number);
  }
  return missing;
}

// False: there is no way on.
bool StartAgain(MemoryDisk& disk, TroubleRecord& record, const Numbers& promised) {
  TestEngine again(TroubledOptions(disk, "always", true));
  const bool is_refused = !again.start_fault().empty();
  // With a log for the first time, beside a snapshot.
  const bool would_be_empty =
      !record.had_log && again.start_fault().find("and no log is") != std::string::npos;
  const bool may_refuse = record.is_lost || record.may_tear || would_be_empty;
  if (!is_refused) again.Settle();
  if (is_refused || again.shutdown_code()) {
    // Of files that were removed by hand nothing is promised.
    EXPECT_TRUE(may_refuse) << again.start_fault()
                            << (again.log().empty() ? std::string() : again.log().back());
    return false;
  }
  const Numbers found = FoundNumbers(again);
  EXPECT_EQ(Missing(promised, found), "") << "acknowledged, and lost";
  EXPECT_EQ(Missing(found, record.asked), "") << "nobody asked for that";
  // It goes on from there. What has been synced by this start is on disk.
  const bool is_sound = again.engine().part<LogService>().IsAllDurable() &&
                        !again.engine().part<LogState>().is_unsure;
  Numbers both;
  std::ranges::set_intersection(record.over_power, found, std::inserter(both, both.end()));
  record.answered = record.over_kill = found;
  record.over_power = is_sound ? found : both;
  record.is_lost = record.may_tear = false;
  return true;
}

void PlayTroubles(uint64_t seed) {
  SimulationRandom random(seed);
  std::mt19937_64 chance(seed);
  TroubledDisk disk(random);
  TroubleRecord record;
  for (int life = 0; life < kTroubleLives && !testing::Test::HasFailure(); ++life) {
    const bool logged = life > 0 || Between(random, 0, 2) > 0;
    const bool power_fails = Between(random, 0, 2) == 0;
    {
      // Now and then not even the start finds the disk in order.
      if (life > 0 && Between(random, 0, 5) == 0) disk.Trouble();
      TroubledLife server(disk, record, random, logged);
      if (power_fails && Between(random, 0, 1) == 0)
        disk.disk().changes_left = Between(random, 0, 60);
      if (server.lives()) server.Live();
      if (server.lives() && Between(random, 0, 3) == 0) server.Finish();
      if (power_fails) disk.disk().changes_left = 0;
    }
    disk.Mend();
    if (power_fails) disk.disk().PowerCut(chance);
    record.may_tear = power_fails && std::exchange(record.has_no, false);
    if (!StartAgain(disk.disk(), record, power_fails ? record.over_power : record.over_kill))
      return;
  }
}

TEST(DiskTroubles, InARowLoseNothingThatWasAcknowledged) { RunSeeds(kTroubleSeeds, PlayTroubles); }

}  // namespace
}  // namespace sluice
