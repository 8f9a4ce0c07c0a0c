// Locks over restarts: processes are killed, machines lose their power, servers stop and start, and
// their disks answer late, or cannot sync and forget. Owners judge by what they were answered
// alone: a lock that one of them has, by its own clock, is never granted to another that it
// excludes, and every token is above all before. No owner that has a lock is told that it has not,
// be it by RENEW or by FENCED; and no token passes FENCED once a newer one has been answered that
// excludes it, however the log was cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/random_commands.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/seed.h"

namespace sluice {
namespace {

constexpr uint64_t kLockRestartSeeds = 1500;
constexpr int kLives = 6;
constexpr int kStepsPerLife = 60;
constexpr int64_t kGraceMaxMs = 20'000;

constexpr int64_t kPermits = 2;

enum class Mode : uint8_t { kExclusive, kShared, kPermits };

// What an owner has, as it believes.
struct Hold {
  int64_t token = 0;
  Mode mode = Mode::kExclusive;
  int64_t until_ms = 0;  // of the machine's time
};

// And what it has asked for, and is not answered yet.
struct Asked {
  enum class What : uint8_t { kAcquire, kRenew, kRelease, kFenced };
  What what;
  std::string key;
  Mode mode = Mode::kExclusive;
  int64_t token = 0;  // but of a new one
  int64_t lease_ms = 0;
  int64_t sent_ms = 0;
  int64_t newest = 0;  // FENCED: the newest that excludes it, as was known when it was sent
};

// A token that was answered.
struct Given {
  std::string key;
  std::string owner;
  Mode mode;
  bool was_long = false;  // a lease that no start waits for
};

class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed), chance_(seed) {
    const char* const policies[] = {"always", "everysec"};
    const int64_t policy = Between(random_, 0, 2);
    config_ = {{"lock-restart-grace-max", std::to_string(kGraceMaxMs)}};
    if (policy == 2) {
      config_.emplace_back("lock-restart-grace", "yes");
    } else {
      config_.emplace_back("appendonly", "yes");
      config_.emplace_back("appendfsync", policies[policy]);
    }
    Boot();
  }

  struct Counts {
    int grants = 0;  // and renewals
    int passed = 0;  // by FENCED
    int stale = 0;
    int in_doubt = 0;
  };
  Counts Live() {
    for (int life = 0; life < kLives; ++life) {
      Start(life);
      for (int64_t step = Between(random_, 0, kStepsPerLife); step > 0; --step) {
        Step();
        Listen();
      }
      End();
    }
    return counts_;
  }

 private:
  struct Owner {
    std::string name;
    TestClient* client = nullptr;
    std::optional<Asked> asked;
  };

  int64_t now_ms() const { return started_ms_ + server_->clock().Sample().ms(); }
  void Boot() { disk_.files["/proc/sys/kernel/random/boot_id"] = std::to_string(++boots_) + "\n"; }

  void Start(int life) {
    TestEngine::Options options;
    options.seed = static_cast<uint64_t>(life) + 1;
    options.disk = &disk_;
    options.audits = false;
    options.config = config_;
    options.unix_ms += started_ms_;
    server_ = std::make_unique<TestEngine>(options);
    ASSERT_EQ(server_->start_fault(), "");
    server_->Settle();
    ASSERT_FALSE(server_->shutdown_code().has_value()) << server_->log().back();
    server_->set_aside_waits(Between(random_, 0, 1) == 0);
    for (Owner& owner : owners_) owner = {owner.name, &server_->Connect(), std::nullopt};
  }

  // The process is killed, the power fails, or it is stopped.
  void End() {
    const int64_t how = Between(random_, 0, 2);
    if (how == 0) server_->engine().FinishLog();
    const int64_t ended_ms = now_ms();
    server_.reset();
    disk_.sync_fault = 0;
    if (Between(random_, 0, 1) == 0) disk_.LetGo(chance_);
    if (how == 1 || Between(random_, 0, 3) == 0) {
      disk_.PowerCut(chance_);
      Boot();
    }
    // No machine starts within the ms: LogLoader counts on that.
    started_ms_ = ended_ms + (Between(random_, 0, 1) == 0 ? 1 : Between(random_, 1, 30'000));
  }

  void Step() {
    Owner& owner = owners_[static_cast<size_t>(Between(random_, 0, 3))];
    const std::string key(1, static_cast<char>('a' + Between(random_, 0, 2)));
    const int64_t choice = Between(random_, 0, 19);
    if (Between(random_, 0, 60) == 0) {
      disk_.sync_fault = disk_.sync_fault == 0 ? EIO : 0;
    } else if (Between(random_, 0, 40) == 0) {
      server_->Connect().Send({"BGREWRITEAOF"});
    } else if (choice < 4) {
      server_->AdvanceTime(Between(random_, 0, 1) == 0 ? 1 : Between(random_, 0, 3000));
    } else if (choice < 8) {
      server_->RunBackgroundNow();
      server_->Settle();
    } else if (!owner.asked) {
      if (choice < 12)
        Acquire(owner, key);
      else if (choice < 15)
        Renew(owner, key);
      else if (choice < 17)
        Write(owner, key);
      else
        Release(owner, key);
    }
  }

  int64_t AnyLease() {
    return Between(random_, 0, 9) == 0 ? kGraceMaxMs + 5000 : Between(random_, 50, 15'000);
  }

  // "a" is had alone, "b" by readers too, "c" is a semaphore.
  Mode AnyMode(const std::string& key) {
    if (key == "c") return Mode::kPermits;
    return key == "b" && Between(random_, 0, 2) > 0 ? Mode::kShared : Mode::kExclusive;
  }
  static void AddMode(std::vector<std::string>& words, Mode mode) {
    if (mode == Mode::kShared) words.push_back("SHARED");
    if (mode == Mode::kPermits)
      words.insert(words.end(), {"PERMITS", "1", "OF", std::to_string(kPermits)});
  }

  void Acquire(Owner& owner, const std::string& key) {
    const int64_t lease_ms = AnyLease();
    const Mode mode = AnyMode(key);
    std::vector<std::string> words = {"LOCK.ACQUIRE", key, owner.name, "LEASE",
                                      std::to_string(lease_ms)};
    if (Between(random_, 0, 1) == 0) words.insert(words.end(), {"WAIT", "20000"});
    AddMode(words, mode);
    Ask(owner, {.what = Asked::What::kAcquire, .key = key, .mode = mode, .lease_ms = lease_ms},
        words);
  }
  // An owner whose lease is over, by its own clock, claims no lock.
  void Renew(Owner& owner, const std::string& key) {
    const auto hold = holds_[key].find(owner.name);
    if (hold == holds_[key].end() || hold->second.until_ms <= now_ms()) return;
    const int64_t lease_ms = AnyLease();
    hold->second.until_ms = std::min(hold->second.until_ms, now_ms() + lease_ms);
    const auto [token, mode, until_ms] = hold->second;
    std::vector<std::string> words = {
        "LOCK.RENEW",         key, owner.name, "LEASE", std::to_string(lease_ms), "TOKEN",
        std::to_string(token)};
    AddMode(words, mode);
    Ask(owner,
        {.what = Asked::What::kRenew,
         .key = key,
         .mode = mode,
         .token = token,
         .lease_ms = lease_ms},
        words);
  }
  // Whatever becomes of it, the owner has the lock no more.
  void Release(Owner& owner, const std::string& key) {
    if (holds_[key].erase(owner.name) == 0) return;
    Ask(owner, {.what = Asked::What::kRelease, .key = key},
        {"LOCK.RELEASE", key, owner.name, "ALL"});
  }
  // Under any token that the owner was ever given: it may have been paused for long.
  void Write(Owner& owner, const std::string& key) {
    std::vector<int64_t> tokens;
    for (const auto& [token, given] : given_)
      if (given.key == key && given.owner == owner.name) tokens.push_back(token);
    if (tokens.empty()) return;
    const auto back = Between(random_, 0, std::min<int64_t>(2, std::ssize(tokens) - 1));
    const int64_t token = tokens[tokens.size() - 1 - static_cast<size_t>(back)];
    Ask(owner,
        {.what = Asked::What::kFenced,
         .key = key,
         .token = token,
         .newest = NewestThatExcludes(key, given_.at(token).mode)},
        {"FENCED", key, std::to_string(token), "SET", "written", std::to_string(token)});
  }
  int64_t NewestThatExcludes(const std::string& key, Mode mode) const {
    int64_t newest = 0;
    for (const auto& [token, given] : given_) {
      const bool excludes = given.mode != mode || mode == Mode::kExclusive;
      if (given.key == key && excludes) newest = token;
    }
    return newest;
  }
  void Ask(Owner& owner, Asked asked, const std::vector<std::string>& words) {
    asked.sent_ms = now_ms();
    // Whether it is answered or not, it may be what a start knows of the token that the owner has.
    if (asked.lease_ms > kGraceMaxMs) {
      for (auto& [token, given] : given_)
        given.was_long |= given.key == asked.key && given.owner == owner.name;
    }
    owner.asked = std::move(asked);
    owner.client->Send(words);
  }

  void Listen() {
    for (Owner& owner : owners_) {
      while (const std::optional<Reply> reply = owner.client->Next()) {
        if (!owner.asked) continue;
        const Asked asked = *std::exchange(owner.asked, std::nullopt);
        Answered(owner, asked, *reply);
      }
    }
  }

  void Answered(const Owner& owner, const Asked& asked, const Reply& reply) {
    if (reply.kind == Reply::Kind::kError) return Refused(owner, asked, reply.text);
    if (asked.what == Asked::What::kAcquire && reply.kind == Reply::Kind::kArray) {
      const int64_t waited_ms = reply.elements.at(3).integer;
      Granted(owner, asked, reply.elements.at(0).integer, asked.sent_ms + waited_ms);
    } else if (asked.what == Asked::What::kRenew) {
      Granted(owner, asked, asked.token, asked.sent_ms);
    } else if (asked.what == Asked::What::kFenced) {
      ++counts_.passed;
      if (given_.at(asked.token).was_long) return;
      EXPECT_GE(asked.token, asked.newest)
          << asked.key << ": an old token of " << owner.name << " passes";
    }
  }

  void Refused(const Owner& owner, const Asked& asked, const std::string& text) {
    if (text.starts_with("LOCKGRACE")) ++counts_.in_doubt;
    const bool denies = text.starts_with("STALE") || text.starts_with("NOTHELD");
    if (!denies || asked.token == 0) return;
    ++counts_.stale;
    const auto hold = holds_[asked.key].find(owner.name);
    const bool has_it = hold != holds_[asked.key].end() && hold->second.token == asked.token &&
                        hold->second.until_ms > now_ms();
    EXPECT_FALSE(has_it) << owner.name << " has " << asked.key << " and is answered " << text;
  }

  // The answer may have been under way for long.
  void Granted(const Owner& owner, const Asked& asked, int64_t token, int64_t since_ms) {
    const auto [given, is_new] =
        given_.try_emplace(token, Given{asked.key, owner.name, asked.mode, false});
    EXPECT_TRUE(is_new || (given->second.key == asked.key && given->second.owner == owner.name))
        << "token " << token << " was given twice";
    given->second.was_long |= asked.lease_ms > kGraceMaxMs;
    const Hold hold = {token, asked.mode, since_ms + asked.lease_ms};
    if (hold.until_ms <= now_ms()) return;
    int64_t beside = 0;
    for (const auto& [name, other] : holds_[asked.key]) {
      if (name == owner.name || other.until_ms <= now_ms()) continue;
      ++beside;
      EXPECT_TRUE(hold.mode == other.mode && hold.mode != Mode::kExclusive)
          << asked.key << " is granted to " << owner.name << " while " << name << " has it";
    }
    if (hold.mode == Mode::kPermits) {
      EXPECT_LT(beside, kPermits) << owner.name << " gets a permit too many";
    }
    holds_[asked.key][owner.name] = hold;
    ++counts_.grants;
  }

  SimulationRandom random_;
  std::mt19937_64 chance_;
  MemoryDisk disk_;
  std::vector<std::pair<std::string, std::string>> config_;
  int boots_ = 0;
  int64_t started_ms_ = 0;
  std::unique_ptr<TestEngine> server_;
  Owner owners_[4] = {{"ann"}, {"bob"}, {"cid"}, {"dan"}};
  std::map<std::string, std::map<std::string, Hold>> holds_;  // by key and owner
  std::map<int64_t, Given> given_;                            // by token
  Counts counts_;
};

TEST(LockRestarts, NoLockHasTwoOwnersAndNoOldTokenPasses) {
  Machine::Counts all;
  RunSeeds(kLockRestartSeeds, [&](uint64_t seed) {
    const Machine::Counts counts = Machine(seed).Live();
    all.grants += counts.grants;
    all.passed += counts.passed;
    all.stale += counts.stale;
    all.in_doubt += counts.in_doubt;
  });
  EXPECT_GT(all.grants, 0);
  EXPECT_GT(all.passed, 0);
  EXPECT_GT(all.stale, 0);
  EXPECT_GT(all.in_doubt, 0);
}

}  // namespace
}  // namespace sluice
