// See clients.h.
#include "tests/simulation/cluster/clients.h"

#include <iterator>

#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kClientPatience = 2 * kSecond;
constexpr int64_t kLeaseMsMin = 20;
constexpr int64_t kLeaseMsMax = 4000;
constexpr int64_t kWaitMsMax = 1500;
constexpr int64_t kReaders = 1000;  // as many as the weight of a writer
constexpr char kPlainLocks[][3] = {"n1", "n2"};
constexpr char kRegisters[][3] = {"r1", "r2", "r3"};

bool Is(const std::optional<Reply>& reply, std::string_view error) {
  return reply && reply->kind == Reply::Kind::kError && reply->text.starts_with(error);
}

HoldingWord::Answer WordOf(const std::optional<Reply>& reply, bool denies) {
  if (!reply) return HoldingWord::Answer::kNone;
  return denies ? HoldingWord::Answer::kNotHeld : HoldingWord::Answer::kDone;
}

// --- limits

struct LimitOfWorld {
  const char* key;
  const char* algorithm;
  int64_t max;
  int64_t period_ms;
  int64_t burst;  // -1: none is named
  LimitBounds bounds;
};

constexpr int64_t kPeriod = 500 * kMs;
constexpr LimitOfWorld kLimits[] = {
    {"l1", "WINDOW", 4, 500, -1, {8, 8, kPeriod, 4, kPeriod}},
    {"l2", "SLIDING", 4, 500, -1, {8, 8, kPeriod, 4, 2 * kPeriod}},
    {"l3", "LOG", 4, 500, -1, {4, 4, kPeriod, 4, kPeriod}},
    {"l4", "LEAKY", 4, 500, -1, {4, 4, kPeriod, 4, kPeriod}},
    {"l5", "ROLLING", 4, 500, 3, {7, 4, kPeriod, 3, kPeriod * 3 / 4}},
    // Such that what a failover loses is still owed behind it.
    {"l7", "LOG", 4, 10'000, -1, {4, 4, 20 * kPeriod, 4, 20 * kPeriod}},
    {"l6", "GCRA", 4, 500, 2, {7, 4, kPeriod, 3, kPeriod * 3 / 4}},
};

}  // namespace

// --- locks

const LockClient::Kind LockClient::kKinds[] = {{"alone", 1}, {"shared", kReaders}, {"permits", 3}};

void LockClient::Act() {
  if (held_ && held_->until <= world_.time().now()) held_.reset();
  const int64_t choice = world_.Pick(0, 9);
  if (!held_) return choice == 0 ? Read() : Acquire();
  if (choice < 3) return Renew();
  if (choice < 6) return Write();
  Release();
}

// By its own clock, which may run at any rate that clocks may, the lease is over before the
// server's can be.
int64_t LockClient::Believed(int64_t call, int64_t lease_ms) const {
  const int64_t lease = lease_ms * kMs;
  return call + lease - lease * 2 * world_.drift_ppm() / 1'000'000;
}

std::vector<std::string> LockClient::ModeOf(const Kind& kind, int64_t weight) const {
  if (kind.capacity == 1 || weight == kReaders) return {};
  if (kind.capacity == kReaders) return {"SHARED"};
  return {"PERMITS", std::to_string(weight), "OF", std::to_string(kind.capacity)};
}

void LockClient::Acquire() {
  const Kind& kind = kKinds[world_.Pick(0, std::ssize(kKinds) - 1)];
  int64_t weight = 1;
  if (kind.capacity == kReaders && world_.OneIn(2)) weight = kReaders;
  if (kind.capacity == 3) weight = world_.Pick(1, 2);
  const int64_t lease_ms = world_.time().PickSpan(kLeaseMsMin, kLeaseMsMax);
  const std::string owner = Concat("o", world_.NewNumber());
  std::vector<std::string> words = {"LOCK.ACQUIRE", kind.key, owner, "LEASE",
                                    std::to_string(lease_ms)};
  // A waiter keeps others out, though there is room: judges of counts do not know.
  if (kind.capacity == 1 && world_.OneIn(2))
    words.insert(words.end(), {"WAIT", std::to_string(world_.Pick(1, kWaitMsMax))});
  const std::vector<std::string> mode = ModeOf(kind, weight);
  words.insert(words.end(), mode.begin(), mode.end());
  Ask(words, kClientPatience,
      [this, &kind, weight, lease_ms, owner](const auto& reply, const Span& span) {
        if (WasRefused(reply)) return;
        LockAttempt attempt{.span = span, .weight = weight, .lease_us = lease_ms * kMs};
        if (reply && reply->kind == Reply::Kind::kArray) {
          attempt.answer = LockAttempt::Answer::kGranted;
          attempt.token = reply->elements.at(0).integer;
        } else if (reply) {
          EXPECT_NE(reply->kind, Reply::Kind::kError) << reply->text;
          attempt.answer = LockAttempt::Answer::kRefused;
        }
        Records::OfLock& lock = world_.records().locks[kind.key];
        lock.capacity = kind.capacity;
        if (attempt.token != 0)
          held_ = {&kind,         owner,  lock.attempts.size(),
                   attempt.token, weight, Believed(span.call, lease_ms)};
        lock.attempts.push_back(attempt);
      });
}

void LockClient::Renew() {
  const int64_t lease_ms = world_.time().PickSpan(kLeaseMsMin, kLeaseMsMax);
  std::vector<std::string> words = {"LOCK.RENEW",
                                    held_->kind->key,
                                    held_->owner,
                                    "LEASE",
                                    std::to_string(lease_ms),
                                    "TOKEN",
                                    std::to_string(held_->token)};
  const std::vector<std::string> mode = ModeOf(*held_->kind, held_->weight);
  words.insert(words.end(), mode.begin(), mode.end());
  // Whether it comes to pass or not, the lease may be shorter from now on.
  held_->until = std::min(held_->until, Believed(world_.time().now(), lease_ms));
  Ask(words, kClientPatience, [this, lease_ms](const auto& reply, const Span& span) {
    if (WasRefused(reply)) return;
    const bool denies = Is(reply, "NOTHELD");
    EXPECT_TRUE(denies || !Is(reply, "")) << reply->text;
    attempt().renewals.push_back({span, WordOf(reply, denies), lease_ms * kMs});
    if (denies) return held_.reset();
    if (reply) held_->until = Believed(span.call, lease_ms);
  });
}

// Whatever becomes of it, the lock is given up.
void LockClient::Release() {
  const Held held = *held_;
  Ask({"LOCK.RELEASE", held.kind->key, held.owner}, kClientPatience,
      [this, held](const auto& reply, const Span& span) {
        held_ = held;
        const bool denies = Is(reply, "NOTHELD");
        if (!WasRefused(reply)) {
          EXPECT_TRUE(denies || !Is(reply, "")) << reply->text;
          attempt().releases.push_back({span, WordOf(reply, denies)});
        }
        held_.reset();
      });
  held_.reset();
}

// A write under the token. Readers and holders of permits pass beside each other, in any order, so
// that only what "alone" protects is a counter.
void LockClient::Write() {
  const std::string key = Concat("c:", held_->kind->key);
  Ask({"FENCED", held_->kind->key, std::to_string(held_->token), "INCR", key}, kClientPatience,
      [this, key](const auto& reply, const Span& span) {
        if (WasRefused(reply)) return;
        if (Is(reply, "STALE")) {
          attempt().renewals.push_back({span, HoldingWord::Answer::kNotHeld});
          return held_.reset();
        }
        EXPECT_FALSE(Is(reply, "")) << reply->text;
        if (held_->kind->capacity != 1) return;
        CounterOperation operation{.span = span};
        if (reply) operation.value = reply->integer;
        if (reply) operation.token = held_->token;
        world_.records().counters[key].push_back(operation);
      });
}

void LockClient::Read() {
  Ask({"GET", "c:alone"}, kClientPatience, [this](const auto& reply, const Span& span) {
    if (!reply || WasRefused(reply)) return;
    world_.records().counters["c:alone"].push_back(
        {.span = span,
         .kind = CounterOperation::Kind::kRead,
         .value = reply->text.empty() ? 0 : std::stoll(reply->text)});
  });
}

// --- locks without tokens

void PlainLockClient::Act() { held_ ? Release() : Acquire(); }

void PlainLockClient::Acquire() {
  const std::string key = kPlainLocks[world_.Pick(0, std::ssize(kPlainLocks) - 1)];
  const int64_t lease_ms = world_.time().PickSpan(kLeaseMsMin, kLeaseMsMax);
  owner_ = Concat(key, ":", world_.NewNumber());
  Ask({"SET", key, owner_, "NX", "PX", std::to_string(lease_ms)}, kClientPatience,
      [this, key, lease_ms](const auto& reply, const Span& span) {
        if (WasRefused(reply)) return;
        EXPECT_FALSE(Is(reply, "")) << reply->text;
        // A key's time counts from the ms in which it is written, as Redis's does.
        LockAttempt attempt{.span = span, .lease_us = (lease_ms - 1) * kMs};
        const bool is_granted = reply && reply->kind == Reply::Kind::kStatus;
        if (reply) attempt.answer = LockAttempt::Answer::kRefused;
        if (is_granted) attempt.answer = LockAttempt::Answer::kGranted;
        std::vector<LockAttempt>& attempts = world_.records().plain_locks[key];
        if (is_granted && !world_.OneIn(3)) held_ = attempts.size();
        attempts.push_back(attempt);
      });
}

void PlainLockClient::Release() {
  const std::string key = owner_.substr(0, owner_.find(':'));
  Ask({"DELIFEQ", key, owner_}, kClientPatience,
      [this, key, held = *held_](const auto& reply, const Span& span) {
        if (WasRefused(reply)) return;
        EXPECT_FALSE(Is(reply, "")) << reply->text;
        world_.records().plain_locks[key][held].releases.push_back(
            {span, WordOf(reply, reply && reply->integer == 0)});
      });
  held_.reset();
}

// --- registers

void RegisterClient::Act() {
  const std::string key = kRegisters[world_.Pick(0, std::ssize(kRegisters) - 1)];
  const int64_t number = world_.OneIn(2) ? world_.NewNumber() : kUnwritten;
  const bool is_write = number != kUnwritten;
  std::vector<std::string> words = {"GET", key};
  if (is_write) words = {"SET", key, std::to_string(number)};
  Ask(words, kClientPatience, [this, key, number, is_write](const auto& reply, const Span& span) {
    if (WasRefused(reply) || (!reply && !is_write)) return;
    EXPECT_FALSE(Is(reply, "")) << reply->text;
    RegisterOperation operation{.span = span, .is_write = is_write, .value = number};
    if (!is_write && !reply->text.empty()) operation.value = std::stoll(reply->text);
    world_.records().registers[key].push_back(operation);
  });
}

// --- anything

void AnyClient::Act() {
  Ask(RandomCommand(world_.time().random()), kClientPatience, [](const auto&, const Span&) {});
}

// --- limits

void LimitClient::Act() {
  const LimitOfWorld& limit = kLimits[world_.Pick(0, std::ssize(kLimits) - 1)];
  std::vector<std::string> words = {"LIMIT.TAKE", limit.key, limit.algorithm,
                                    std::to_string(limit.max), std::to_string(limit.period_ms)};
  if (limit.burst >= 0) words.insert(words.end(), {"BURST", std::to_string(limit.burst)});
  Ask(words, kClientPatience, [this, &limit](const auto& reply, const Span& span) {
    if (WasRefused(reply)) return;
    EXPECT_FALSE(Is(reply, "")) << reply->text;
    LimitOperation operation{.span = span};
    if (reply)
      operation.answer = reply->elements.at(0).integer == 1 ? LimitOperation::Answer::kAllowed
                                                            : LimitOperation::Answer::kRefused;
    Records::OfLimit& record = world_.records().limits[limit.key];
    record.bounds = limit.bounds;
    record.operations.push_back(operation);
  });
}

}  // namespace sluice::cluster
