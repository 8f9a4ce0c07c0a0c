// See records.h. A wrong history is made short by leaving out what may be left out: an operation
// without which the rest is still wrong; at first many at once, so that a long one is soon short.
// Not all may: without a grant a refusal looks wrong, and without a write its reads do.
#include "tests/simulation/cluster/records.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "protocol/text/concat.h"
#include "tests/support/linearizable/search.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kGrainUs = 4000;  // of a lease: its ms begins with the next one
constexpr size_t kShownMax = 40;

using LockAnswer = LockAttempt::Answer;
using Complaint = std::optional<std::string>;

// --- as text

std::string Show(const Span& span) {
  return Concat("[", span.call, ", ", span.answered() ? std::to_string(span.answer) : "-", "] ");
}

std::string Show(const char* what, const HoldingWord& word) {
  const char* const answers[] = {" done", " not held", " no answer"};
  return Concat("; ", what, " ", Show(word.span), word.lease_us / 1000, " ms",
                answers[static_cast<int>(word.answer)]);
}

std::string Show(const LockAttempt& attempt) {
  const char* const answers[] = {"granted, token ", "refused ", "no answer "};
  std::string line =
      Concat(Show(attempt.span), answers[static_cast<int>(attempt.answer)], attempt.token,
             ", weight ", attempt.weight, ", lease ", attempt.lease_us / 1000, " ms");
  for (const HoldingWord& word : attempt.renewals) line += Show("renewal", word);
  for (const HoldingWord& word : attempt.releases) line += Show("release", word);
  return line;
}

std::string Show(const RegisterOperation& operation) {
  return Concat(Show(operation.span), operation.is_write ? "write " : "read ", operation.value);
}

std::string Show(const CounterOperation& operation) {
  const char* const kinds[] = {"increment to ", "read ", "refused "};
  return Concat(Show(operation.span), kinds[static_cast<int>(operation.kind)], operation.value,
                ", token ", operation.token);
}

std::string Show(const LimitOperation& operation) {
  const char* const answers[] = {"let through ", "refused ", "no answer "};
  return Concat(Show(operation.span), answers[static_cast<int>(operation.answer)], operation.cost);
}

// --- shorter

template <typename Operation>
using MayGo = std::function<bool(const std::vector<Operation>& history, const Operation& one)>;

template <typename Operation>
std::string Report(const std::string& key, std::vector<Operation> history,
                   const std::function<Complaint(const std::vector<Operation>&)>& judge,
                   const MayGo<Operation>& may_go) {
  for (size_t block = std::bit_floor(history.size()); block > 0; block /= 2) {
    for (size_t end = history.size(); end > 0;) {
      const size_t begin = end - std::min(block, end);
      std::vector<Operation> shorter;
      for (size_t i = 0; i < history.size(); ++i) {
        const bool is_in_block = i >= begin && i < end;
        if (!is_in_block || !may_go(history, history[i])) shorter.push_back(history[i]);
      }
      if (shorter.size() < history.size() && judge(shorter)) history = std::move(shorter);
      end = begin;
    }
  }
  std::string text = Concat(key, ": ", judge(history).value_or(""), "\n");
  for (size_t i = 0; i < std::min(history.size(), kShownMax); ++i)
    text += Concat("  ", i, ": ", Show(history[i]), "\n");
  if (history.size() > kShownMax) text += Concat("  and ", history.size() - kShownMax, " more\n");
  return text;
}

// Of a lock or a limit.
template <typename Operation>
bool IsRefusal(const Operation& one) {
  return one.answer == Operation::Answer::kRefused;
}

// --- of each kind

// What was granted, or let through, and cannot have been, is wrong whatever else there is; a
// refusal needs all of it.
template <typename Operation>
Complaint JudgeAndReport(const std::string& key, const std::vector<Operation>& history,
                         bool are_refusals_judged,
                         const std::function<Complaint(const std::vector<Operation>&)>& judge) {
  std::vector<Operation> granted = history;
  std::erase_if(granted, IsRefusal<Operation>);
  if (judge(granted))
    return Report<Operation>(key, granted, judge,
                             [](const auto&, const Operation&) { return true; });
  if (!are_refusals_judged || !judge(history)) return std::nullopt;
  return Report<Operation>(key, history, judge,
                           [](const auto&, const Operation& one) { return IsRefusal(one); });
}

Complaint JudgeBySearch(const std::vector<LockAttempt>& history, const LockRules& rules,
                        Searched& searched) {
  const std::vector<LockEvent> events = EventsOf(history, rules);
  const SearchResult found = Search<LockModel>::Run(events);
  ++searched.histories;
  searched.too_much += found.verdict == SearchResult::Verdict::kTooMuch ? 1 : 0;
  if (found.verdict != SearchResult::Verdict::kDoesNotFit) return std::nullopt;
  return Concat("attempt ", events[found.at].attempt, " fits no order");
}

// Tokens grow over all locks: none that was asked for behind an answer is below that one's.
Complaint JudgeTokens(const Records& records) {
  std::vector<LockAttempt> grants;
  for (const auto& [key, lock] : records.locks) {
    for (const LockAttempt& attempt : lock.attempts) {
      if (attempt.answer == LockAnswer::kGranted) grants.push_back(attempt);
    }
  }
  std::ranges::sort(grants, {}, &LockAttempt::token);
  const LockAttempt* latest = nullptr;  // by its call, of those with smaller tokens
  for (const LockAttempt& grant : grants) {
    const bool is_wrong = latest && grant.span.answer < latest->span.call;
    const bool is_twice = &grant != grants.data() && (&grant - 1)->token == grant.token;
    if (is_twice) return Concat("token twice:\n  ", Show(*(&grant - 1)), "\n  ", Show(grant), "\n");
    if (is_wrong) return Concat("tokens fall:\n  ", Show(grant), "\n  ", Show(*latest), "\n");
    if (!latest || grant.span.call > latest->span.call) latest = &grant;
  }
  return std::nullopt;
}

Complaint JudgeLocks(const Records& records, const Promise& promise, Searched& searched) {
  LockRules rules{
      .drift_ppm = promise.drift_ppm, .grain_us = kGrainUs, .standstills = promise.standstills};
  for (const auto& [key, lock] : records.locks) {
    rules.capacity = lock.capacity;
    const Complaint complaint =
        JudgeAndReport<LockAttempt>(key, lock.attempts, promise.kept == Promise::Kept::kAll,
                                    [&](const auto& history) { return JudgeLock(history, rules); });
    if (complaint) return complaint;
  }
  if (promise.kept > Promise::Kept::kChanges) return std::nullopt;  // a key is lost as any other
  rules.capacity = 1;
  for (const auto& [key, attempts] : records.plain_locks) {
    const Complaint complaint = JudgeAndReport<LockAttempt>(
        key, attempts, promise.kept == Promise::Kept::kAll,
        [&](const auto& history) { return JudgeBySearch(history, rules, searched); });
    if (complaint) return complaint;
  }
  return std::nullopt;
}

// A read, or a write that none shows.
bool IsNotRead(const std::vector<RegisterOperation>& history, const RegisterOperation& one) {
  return !one.is_write || std::ranges::none_of(history, [&](const RegisterOperation& other) {
    return !other.is_write && other.value == one.value;
  });
}

Complaint JudgeRegisters(const Records& records) {
  for (const auto& [key, operations] : records.registers) {
    const auto judge = [](const std::vector<RegisterOperation>& one) { return JudgeRegister(one); };
    if (judge(operations)) return Report<RegisterOperation>(key, operations, judge, IsNotRead);
  }
  return std::nullopt;
}

Complaint JudgeCounters(const Records& records) {
  for (const auto& [key, operations] : records.counters) {
    const auto judge = [](const std::vector<CounterOperation>& one) { return JudgeCounter(one); };
    if (judge(operations))
      return Report<CounterOperation>(key, operations, judge,
                                      [](const auto&, const CounterOperation& one) {
                                        return one.kind == CounterOperation::Kind::kRead;
                                      });
  }
  return std::nullopt;
}

LimitBounds Drifted(LimitBounds bounds, int64_t drift_ppm) {
  constexpr int64_t kMillion = 1'000'000;
  bounds.period_us -= bounds.period_us * drift_ppm / kMillion + kGrainUs;
  bounds.whole_after_us += bounds.whole_after_us * drift_ppm / kMillion + kGrainUs;
  return bounds;
}

Complaint JudgeLimits(const Records& records, const Promise& promise) {
  for (const auto& [key, limit] : records.limits) {
    const LimitBounds bounds = Drifted(limit.bounds, promise.drift_ppm);
    const Complaint complaint = JudgeAndReport<LimitOperation>(
        key, limit.operations, promise.kept == Promise::Kept::kAll,
        [&](const auto& history) { return JudgeLimit(history, bounds); });
    if (complaint) return complaint;
  }
  return std::nullopt;
}

}  // namespace

size_t Records::operations() const {
  size_t sum = 0;
  const auto add = [&sum](const std::vector<LockAttempt>& attempts) {
    for (const LockAttempt& attempt : attempts)
      sum += 1 + attempt.renewals.size() + attempt.releases.size();
  };
  for (const auto& [key, lock] : locks) add(lock.attempts);
  for (const auto& [key, attempts] : plain_locks) add(attempts);
  for (const auto& [key, operations] : registers) sum += operations.size();
  for (const auto& [key, operations] : counters) sum += operations.size();
  for (const auto& [key, limit] : limits) sum += limit.operations.size();
  return sum;
}

std::optional<std::string> Judge(const Records& records, const Promise& promise,
                                 Searched* searched) {
  Searched unread;
  Searched& counts = searched ? *searched : unread;
  if (Complaint complaint = JudgeTokens(records)) return complaint;
  if (promise.kept == Promise::Kept::kTokens) return std::nullopt;
  if (Complaint complaint = JudgeLocks(records, promise, counts)) return complaint;
  if (promise.kept == Promise::Kept::kGrants) return std::nullopt;
  if (Complaint complaint = JudgeCounters(records)) return complaint;
  if (Complaint complaint = JudgeLimits(records, promise)) return complaint;
  return promise.kept == Promise::Kept::kAll ? JudgeRegisters(records) : std::nullopt;
}

}  // namespace sluice::cluster
