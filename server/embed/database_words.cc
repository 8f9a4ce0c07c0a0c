// DatabaseCore in fewer words: what programs ask most often, with arguments instead of words.
// LIMIT.TAKE goes past words altogether where nobody is to hear of it.
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/null_sink.h"
#include "protocol/text/number_text.h"
#include "server/embed/database_impl.h"

namespace sluice {
inline namespace v1 {
namespace {

constexpr std::string_view kQueued = "QUEUED for EXEC, which will tell";

// A number's digits, for as long as it lives.
class Digits {
 public:
  explicit Digits(int64_t number) : end_(FormatInt64(text_, number)) {}
  operator std::string_view() const { return {text_, static_cast<size_t>(end_ - text_)}; }

 private:
  char text_[kInt64TextMax];
  char* end_;
};

// LOCK.ACQUIRE in words, for as long as it lives.
class AcquireWords {
 public:
  AcquireWords(std::string_view key, std::string_view owner, const LockOptions& options,
               Millis wait)
      : lease_(options.lease.count()),
        permits_(options.permits),
        of_(options.of),
        wait_(wait.count()),
        words_({"LOCK.ACQUIRE", key, owner, "LEASE", lease_}) {
    if (options.shared) words_.push_back("SHARED");
    if (options.permits != 0) words_.insert(words_.end(), {"PERMITS", permits_, "OF", of_});
    if (!options.label.empty()) words_.insert(words_.end(), {"LABEL", options.label});
    if (wait.count() != 0) words_.insert(words_.end(), {"WAIT", wait_});
  }
  operator Words() const { return words_; }

 private:
  const Digits lease_, permits_, of_, wait_;
  std::vector<std::string_view> words_;
};

// LIMIT.TAKE says -1 of what never fits.
std::optional<Millis> RetryAfter(int64_t retry_ms) {
  return retry_ms < 0 ? std::nullopt : std::optional(Millis(retry_ms));
}

Verdict VerdictOf(const EmbeddedEngine::Taken& taken) {
  return {.allowed = taken.allowed,
          .limit = taken.limit,
          .remaining = taken.remaining,
          .retry_after = RetryAfter(taken.retry_ms),
          .reset_after = Millis(taken.reset_ms),
          .reset_at = Millis(taken.reset_at_ms)};
}

}  // namespace

// The six numbers of a limit, as a client of RESP2 gets them: an array and no names.
struct DatabaseCore::VerdictSink final : NullSink {
  void Error(std::string_view text) override { verdict.error.assign(text); }
  void Integer(int64_t value) override {
    if (count < std::size(values)) values[count++] = value;
  }
  void Integers(std::span<const int64_t> all) override {
    for (const int64_t value : all) Integer(value);
  }

  Verdict Take() {
    if (count == std::size(values)) {
      verdict.allowed = values[0] == 1;
      verdict.limit = values[1];
      verdict.remaining = values[2];
      verdict.retry_after = RetryAfter(values[3]);
      verdict.reset_after = Millis(values[4]);
      verdict.reset_at = Millis(values[5]);
    } else if (verdict.error.empty()) {
      verdict.error.assign(kQueued);
    }
    return std::move(verdict);
  }

  Verdict verdict;
  int64_t values[6];
  size_t count = 0;
};

std::optional<std::string> DatabaseCore::Get(std::string_view key) {
  const std::string_view words[] = {"GET", key};
  Reply reply = Run(*own_, words);
  if (reply.kind() != Reply::Kind::kString) return std::nullopt;
  return reply.TakeText();
}

Verdict DatabaseCore::Take(std::string_view key, const Limit& limit, int64_t cost, bool peek) {
  const Entry entry(*this);
  const std::string_view refusal = !entry                      ? kBusy
                                   : !Refusal().empty()        ? Refusal()
                                   : own_->waits               ? kWaiting
                                   : engine_->IsHeld(own_->id) ? kPaused
                                                               : std::string_view();
  if (!refusal.empty()) {
    Verdict fault;
    fault.error.assign(refusal);
    return fault;
  }
  if (!peek && limit.policy.empty()) [[likely]] {
    const EmbeddedEngine::TakeRequest request{.algorithm = limit.algorithm,
                                              .max = limit.max,
                                              .period_ms = limit.period.count(),
                                              .burst = limit.burst,
                                              .cost = cost};
    if (const auto taken = engine_->Take(own_->id, key, request)) return VerdictOf(*taken);
  }
  return TakeInWords(key, limit, cost, peek);
}

// As a command: a fault gets its sentence, MONITOR and the log their words, a policy its numbers.
Verdict DatabaseCore::TakeInWords(std::string_view key, const Limit& limit, int64_t cost,
                                  bool peek) {
  const Digits max(limit.max), period(limit.period.count());
  std::optional<Digits> burst, units;
  std::string_view words[10] = {"LIMIT.TAKE", key, limit.algorithm};
  size_t count = 3;
  if (limit.policy.empty()) {
    words[count++] = max;
    words[count++] = period;
    if (limit.burst != 0) {
      words[count++] = "BURST";
      words[count++] = burst.emplace(limit.burst);
    }
  } else {
    words[count++] = limit.policy;
  }
  if (cost != 1) {
    words[count++] = "COST";
    words[count++] = units.emplace(cost);
  }
  if (peek) words[count++] = "PEEK";
  VerdictSink sink;
  const EmbeddedEngine::Outcome outcome = RunOn(*own_, {words, count}, &sink);
  if (outcome == EmbeddedEngine::Outcome::kAnswered) return sink.Take();
  const Reply reply = Answer(*own_, outcome);
  Verdict fault;
  fault.error.assign(reply.text());
  return fault;
}

LockGuard DatabaseCore::Acquire(std::string_view key, std::string_view owner,
                                const LockOptions& options) {
  return Adopt(key, owner, Run(*own_, AcquireWords(key, owner, options, Millis(0))));
}

Ticket DatabaseCore::StartAcquire(std::string_view key, std::string_view owner,
                                  const LockOptions& options, Millis wait) {
  return StartTicket(AcquireWords(key, owner, options, wait));
}

LockGuard DatabaseCore::Adopt(std::string_view key, std::string_view owner, const Reply& granted) {
  LockGuard guard;
  guard.core_ = weak_from_this();
  guard.key_.assign(key);
  guard.owner_.assign(owner);
  guard.token_ = granted["token"].integer();
  guard.lease_ = Millis(granted["lease_ms"].integer());
  if (granted.is_error()) guard.error_.assign(granted.text());
  return guard;
}

}  // namespace v1
}  // namespace sluice
