// Locks over restarts: processes are killed, machines lose their power, servers stop and start, and
// their disks answer late, or cannot sync and forget. Owners judge by what they were answered
// alone: a lock that one of them has, by its own clock, is never granted to another, and every
// token is above all before.
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

// What an owner has, as it believes.
struct Hold {
  std::string owner;
  int64_t token = 0;
  int64_t until_ms = 0;  // of the machine's time
};

// And what it has asked for, and is not answered yet.
struct Asked {
  std::string key;
  int64_t token = 0;  // of a renewal
  int64_t lease_ms = 0;
  int64_t sent_ms = 0;
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

  // How many grants and renewals were answered.
  int Live() {
    for (int life = 0; life < kLives; ++life) {
      Start(life);
      for (int64_t step = Between(random_, 0, kStepsPerLife); step > 0; --step) {
        Step();
        Listen();
      }
      End();
    }
    return grants_;
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
      server_->RunAsideNow();
      server_->Settle();
    } else if (!owner.asked) {
      if (choice < 14)
        Acquire(owner, key);
      else if (choice < 17)
        Renew(owner, key);
      else
        Release(owner, key);
    }
  }

  int64_t AnyLease() {
    return Between(random_, 0, 9) == 0 ? kGraceMaxMs + 5000 : Between(random_, 50, 15'000);
  }

  void Acquire(Owner& owner, const std::string& key) {
    const int64_t lease_ms = AnyLease();
    std::vector<std::string> words = {"LOCK.ACQUIRE", key, owner.name, "LEASE",
                                      std::to_string(lease_ms)};
    if (Between(random_, 0, 1) == 0) words.insert(words.end(), {"WAIT", "20000"});
    Ask(owner, {.key = key, .lease_ms = lease_ms}, words);
  }
  void Renew(Owner& owner, const std::string& key) {
    const auto hold = holds_.find(key);
    if (hold == holds_.end() || hold->second.owner != owner.name) return;
    const int64_t lease_ms = AnyLease();
    const int64_t token = hold->second.token;
    hold->second.until_ms = std::min(hold->second.until_ms, now_ms() + lease_ms);
    Ask(owner, {.key = key, .token = token, .lease_ms = lease_ms},
        {"LOCK.RENEW", key, owner.name, "LEASE", std::to_string(lease_ms), "TOKEN",
         std::to_string(token)});
  }
  // Whatever becomes of it, the owner has the lock no more.
  void Release(Owner& owner, const std::string& key) {
    const auto hold = holds_.find(key);
    if (hold == holds_.end() || hold->second.owner != owner.name) return;
    holds_.erase(hold);
    Ask(owner, {.key = key}, {"LOCK.RELEASE", key, owner.name, "ALL"});
  }
  void Ask(Owner& owner, Asked asked, const std::vector<std::string>& words) {
    asked.sent_ms = now_ms();
    owner.asked = std::move(asked);
    owner.client->Send(words);
  }

  void Listen() {
    for (Owner& owner : owners_) {
      while (const std::optional<Reply> reply = owner.client->Next()) {
        if (!owner.asked) continue;
        const Asked asked = *std::exchange(owner.asked, std::nullopt);
        if (reply->kind == Reply::Kind::kArray) {
          const int64_t waited_ms = reply->elements.at(3).integer;
          Granted(owner, asked, reply->elements.at(0).integer, asked.sent_ms + waited_ms);
        } else if (reply->kind == Reply::Kind::kInteger && asked.token != 0) {
          Granted(owner, asked, asked.token, asked.sent_ms);
        }
      }
    }
  }

  // The answer may have been under way for long.
  void Granted(const Owner& owner, const Asked& asked, int64_t token, int64_t since_ms) {
    const auto [given, is_new] = given_.try_emplace(token, asked.key, owner.name);
    EXPECT_TRUE(is_new || given->second == std::pair(asked.key, owner.name))
        << "token " << token << " was given twice";
    const Hold hold = {owner.name, token, since_ms + asked.lease_ms};
    if (hold.until_ms <= now_ms()) return;
    const Hold& former = holds_[asked.key];
    if (former.owner != owner.name) {
      EXPECT_LE(former.until_ms, now_ms())
          << asked.key << " is granted to " << owner.name << " while " << former.owner << " has it";
    }
    holds_[asked.key] = hold;
    ++grants_;
  }

  SimulationRandom random_;
  std::mt19937_64 chance_;
  MemoryDisk disk_;
  std::vector<std::pair<std::string, std::string>> config_;
  int boots_ = 0;
  int64_t started_ms_ = 0;
  std::unique_ptr<TestEngine> server_;
  Owner owners_[4] = {{"ann"}, {"bob"}, {"cid"}, {"dan"}};
  std::map<std::string, Hold> holds_;
  std::map<int64_t, std::pair<std::string, std::string>> given_;  // by token: which lock, to whom
  int grants_ = 0;
};

TEST(LockRestarts, NoLockHasTwoOwners) {
  int grants = 0;
  RunSeeds(kLockRestartSeeds, [&](uint64_t seed) { grants += Machine(seed).Live(); });
  EXPECT_GT(grants, 0);
}

}  // namespace
}  // namespace sluice
