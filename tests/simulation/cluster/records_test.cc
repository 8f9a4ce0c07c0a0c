// The judge of whole records, judged itself (records.h): long ones of many keys are right as they
// were made, and with one wrong answer they are refused, by a short history.
//
//   SLUICE_JUDGED=100000 build-test/tests/simulation --gtest_filter='Records.*'      prints seconds
#include "tests/simulation/cluster/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/support/seed.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kJudgedOperations = 4000;
constexpr int64_t kJudgedKeys = 100;
constexpr int64_t kStepUs = 20;   // at most, from one effect to the next
constexpr int64_t kSpanUs = 200;  // at most, before it and behind it: some 20 clients at once
constexpr int64_t kLimitMax = 4;
constexpr int64_t kLimitPeriodUs = 20'000;

int64_t JudgedOperations() {
  const char* const given = std::getenv("SLUICE_JUDGED");
  return given ? std::atoll(given) : kJudgedOperations;
}

// Makes histories of locks with and without tokens, counters, registers and limits that do as they
// should, one effect after the other.
class RecordsMaker {
 public:
  RecordsMaker(uint64_t seed, int64_t keys) : random_(seed), keys_(keys) {}

  Records Make(int64_t operations) {
    for (int64_t i = 0; i < operations; ++i) {
      now_ += To(kStepUs);
      const std::string key = Concat("k", To(keys_ - 1));
      switch (To(4)) {
        case 0:
          AskLock(records_.locks[key].attempts, held_.try_emplace(key, -1).first->second, true);
          break;
        case 1:
          AskLock(records_.plain_locks[key], plain_held_.try_emplace(key, -1).first->second, false);
          break;
        case 2:
          AskCounter(key);
          break;
        case 3:
          AskLimit(key);
          break;
        default:
          AskRegister(key);
      }
    }
    return std::move(records_);
  }

 private:
  int64_t To(int64_t most) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(most + 1));
  }
  Span Around() { return {now_ - To(kSpanUs), now_ + To(kSpanUs)}; }

  void AskLock(std::vector<LockAttempt>& attempts, int64_t& held_by, bool has_token) {
    if (held_by >= 0 && To(1) == 0) {
      // Its owner knows of it before he gives it back.
      LockAttempt& holder = attempts[static_cast<size_t>(held_by)];
      const int64_t call = std::max(now_ - To(kSpanUs), holder.span.answer);
      if (call > now_) return;
      holder.releases.push_back({{call, now_ + To(kSpanUs)}, HoldingWord::Answer::kDone});
      held_by = -1;
      return;
    }
    LockAttempt attempt{.span = Around(), .answer = LockAttempt::Answer::kRefused};
    if (held_by < 0) {
      attempt.answer = LockAttempt::Answer::kGranted;
      if (has_token) attempt.token = ++token_;
      held_by = std::ssize(attempts);
    }
    attempts.push_back(attempt);
  }

  void AskCounter(const std::string& key) {
    records_.counters[key].push_back({.span = Around(), .value = ++counters_[key]});
  }

  // It remembers each that it has let through.
  void AskLimit(const std::string& key) {
    Records::OfLimit& limit = records_.limits[key];
    limit.bounds = {kLimitMax, kLimitMax, kLimitPeriodUs, kLimitMax, kLimitPeriodUs};
    std::deque<int64_t>& let_through = let_through_[key];
    while (!let_through.empty() && let_through.front() <= now_ - kLimitPeriodUs)
      let_through.pop_front();
    const bool has_room = std::ssize(let_through) < kLimitMax;
    if (has_room) let_through.push_back(now_);
    limit.operations.push_back(
        {.span = Around(),
         .answer = has_room ? LimitOperation::Answer::kAllowed : LimitOperation::Answer::kRefused});
  }

  void AskRegister(const std::string& key) {
    const bool is_write = To(2) == 0;
    if (is_write) values_[key] = ++written_;
    records_.registers[key].push_back(
        {.span = Around(), .is_write = is_write, .value = values_[key]});
  }

  std::mt19937_64 random_;
  const int64_t keys_;
  Records records_;
  int64_t now_ = 0;
  int64_t token_ = 0;
  int64_t written_ = 0;
  std::map<std::string, int64_t> held_;  // by which attempt; negative: by none
  std::map<std::string, int64_t> plain_held_;
  std::map<std::string, std::deque<int64_t>> let_through_;
  std::map<std::string, int64_t> counters_;
  std::map<std::string, int64_t> values_;
};

std::optional<std::string> Judged(const char* what, const Records& records) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<std::string> complaint = Judge(records, {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%s: %zu operations in %.3f s\n", what, records.operations(), took.count());
  return complaint;
}

TEST(Records, ThatAreLongAreRight) {
  const Records records = RecordsMaker(TestSeed(0), kJudgedKeys).Make(JudgedOperations());
  EXPECT_EQ(Judged("right", records).value_or(""), "");
  Searched searched;
  EXPECT_EQ(Judge(records, {}, &searched), std::nullopt);
  EXPECT_GT(searched.histories, 0u);
  EXPECT_EQ(searched.too_much, 0u);
}

// A tenth as many, of one key, in the middle of which one answer is wrong.
void ExpectRefused(const char* what, int64_t lines_max,
                   const std::function<void(Records& records)>& spoil) {
  Records records =
      RecordsMaker(TestSeed(1), 1).Make(std::max<int64_t>(1000, JudgedOperations() / 10));
  spoil(records);
  const std::optional<std::string> complaint = Judged(what, records);
  ASSERT_TRUE(complaint.has_value()) << what;
  EXPECT_LE(std::ranges::count(*complaint, '\n'), lines_max) << *complaint;
}

TEST(Records, WithOneWrongAnswerAreRefusedByAShortHistory) {
  ExpectRefused("a lock with two owners", 4, [](Records& records) {
    std::vector<LockAttempt>& attempts = records.locks["k0"].attempts;
    auto holder = attempts.begin() + std::ssize(attempts) / 2;
    while (holder->answer != LockAttempt::Answer::kGranted) ++holder;
    holder->releases.clear();
  });
  ExpectRefused("a plain lock with two owners", 4, [](Records& records) {
    std::vector<LockAttempt>& attempts = records.plain_locks["k0"];
    auto holder = attempts.begin() + std::ssize(attempts) / 2;
    while (holder->answer != LockAttempt::Answer::kGranted) ++holder;
    holder->releases.clear();
  });
  ExpectRefused("a limit that lets one more through", 8, [](Records& records) {
    std::vector<LimitOperation>& operations = records.limits["k0"].operations;
    auto refused = operations.begin() + std::ssize(operations) / 2;
    while (refused->answer != LimitOperation::Answer::kRefused) ++refused;
    refused->answer = LimitOperation::Answer::kAllowed;
  });
  ExpectRefused("a value that was written over", 5, [](Records& records) {
    std::vector<RegisterOperation>& operations = records.registers["k0"];
    auto read = operations.begin() + std::ssize(operations) / 2;
    while (read->is_write) ++read;
    read->value = operations.front().is_write ? operations.front().value : kUnwritten;
  });
  // Its increments make each other's values: none may be left out.
  ExpectRefused("a counter that went back", 42, [](Records& records) {
    std::vector<CounterOperation>& operations = records.counters["k0"];
    operations[operations.size() / 2].value = operations[operations.size() / 4].value;
  });
}

}  // namespace
}  // namespace sluice::cluster
