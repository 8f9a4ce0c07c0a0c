// See stored_claims.h.
#include "tests/simulation/plays/stored_claims.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "tests/simulation/cluster/world.h"
#include "tests/support/command_line.h"
#include "tests/support/linearizable/search.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kStoredClientsUntil = 10 * kSecond;  // longer ones are too much for a search
constexpr int64_t kStoredEnd = 30 * kSecond;           // all that was late has come by then
constexpr int64_t kStorePatienceOfClients = 2 * kSecond;
constexpr int64_t kBreakEvery = 3 * kSecond;
constexpr int64_t kWatchAgain = 100 * kMs;
constexpr int64_t kLagging = 100 * kMs;
constexpr int64_t kClaimLeaseMsMin = 20;
constexpr int64_t kClaimLeaseMsMax = 3000;
constexpr int64_t kStoreGrainUs = 1;
constexpr std::array kClaims = {"leader", "worker"};
constexpr std::array kValues = {"v1", "v2"};

// What answers have said of a value, by revision.
struct AnsweredWrite {
  int64_t value;
  int64_t answered_at;
};
using AnsweredWrites = std::map<std::string, std::map<int64_t, AnsweredWrite>>;

// Whether it is known what became of the request.
std::optional<Reply> Known(const std::optional<Reply>& reply) {
  if (reply && reply->kind == Reply::Kind::kError && reply->text.starts_with("UNKNOWN")) return {};
  return reply;
}

// --- clients

class StoredClient final : public Client {
 public:
  StoredClient(World& world, Callee& store, AnsweredWrites& writes)
      : Client(world, store), writes_(writes) {}

 private:
  struct Claimed {
    const char* key;
    size_t attempt;  // of the records
    std::string revision;
  };

  void Act() override {
    switch (world_.Pick(0, 5)) {
      case 0:
        return Read();
      case 1:
        return Write();
      case 2:
        claimed_.reset();  // its lease ends it
        return Claim();
      default:
        if (!claimed_) return Claim();
        return world_.OneIn(2) ? Keep() : Drop();
    }
  }

  // What came of it, and its span: an answer that does not say is none.
  void AskStore(const std::vector<std::string>& words, Heard heard) {
    Ask(words, kStorePatienceOfClients,
        [this, heard = std::move(heard)](const auto& reply, const Span& span) {
          const std::optional<Reply> known = Known(reply);
          if (!known && !caller().was_said()) return;
          EXPECT_FALSE(known && known->text.starts_with("ERR")) << known->text;
          heard(known, {span.call, known ? span.answer : kNever});
        });
  }

  void Read() {
    const char* const key = kValues[static_cast<size_t>(world_.Pick(0, std::ssize(kValues) - 1))];
    AskStore({"GET", key}, [this, key](const auto& reply, const Span& span) {
      if (!reply) return;
      const bool is_there = !reply->elements.empty();
      const int64_t value = is_there ? std::stoll(reply->elements.front().text) : kUnwritten;
      world_.records().registers[key].push_back({.span = span, .value = value});
    });
  }

  void Write() {
    const char* const key = kValues[static_cast<size_t>(world_.Pick(0, std::ssize(kValues) - 1))];
    const int64_t value = world_.NewNumber();
    AskStore({"PUT", key, std::to_string(value)}, [this, key, value](const auto& reply,
                                                                     const Span& span) {
      world_.records().registers[key].push_back({.span = span, .is_write = true, .value = value});
      if (reply) writes_[key][reply->integer] = {value, span.answer};
    });
  }

  void Claim() {
    const char* const key = kClaims[static_cast<size_t>(world_.Pick(0, std::ssize(kClaims) - 1))];
    const int64_t lease_ms = world_.time().PickSpan(kClaimLeaseMsMin, kClaimLeaseMsMax);
    const std::string owner = Concat("o", world_.NewNumber());
    AskStore({"CLAIM", key, owner, std::to_string(lease_ms)},
             [this, key, lease_ms](const auto& reply, const Span& span) {
               LockAttempt attempt{.span = span, .lease_us = lease_ms * kMs};
               std::vector<LockAttempt>& attempts = world_.records().locks[key].attempts;
               if (reply) attempt.answer = LockAttempt::Answer::kRefused;
               if (reply && reply->kind == Reply::Kind::kInteger) {
                 attempt.answer = LockAttempt::Answer::kGranted;
                 attempt.token = reply->integer;
                 claimed_ = {key, attempts.size(), std::to_string(reply->integer)};
               }
               attempts.push_back(attempt);
             });
  }

  void Keep() {
    const int64_t lease_ms = world_.time().PickSpan(kClaimLeaseMsMin, kClaimLeaseMsMax);
    AskOfClaim({"KEEP", claimed_->key, claimed_->revision, std::to_string(lease_ms)},
               &LockAttempt::renewals, lease_ms);
  }
  void Drop() {
    const Claimed was = *claimed_;
    AskOfClaim({"DROP", was.key, was.revision}, &LockAttempt::releases, 0);
    claimed_.reset();
  }

  void AskOfClaim(const std::vector<std::string>& words,
                  std::vector<HoldingWord> LockAttempt::*said, int64_t lease_ms) {
    AskStore(words, [this, of = *claimed_, said, lease_ms](const auto& reply, const Span& span) {
      HoldingWord word{.span = span, .lease_us = lease_ms * kMs};
      if (reply) word.answer = HoldingWord::Answer::kDone;
      if (reply && reply->kind == Reply::Kind::kError) {
        word.answer = HoldingWord::Answer::kNotHeld;
        claimed_.reset();
      }
      (world_.records().locks[of.key].attempts[of.attempt].*said).push_back(word);
    });
  }

  AnsweredWrites& writes_;
  std::optional<Claimed> claimed_;
};

// --- watchers

// Hears of one key, over many connections.
class StoredWatcher final : public End {
 public:
  StoredWatcher(World& world, Store& store, std::string key)
      : world_(world), store_(store), site_(world.NewSite()), key_(std::move(key)) {
    Connect();
  }
  ~StoredWatcher() override {
    if (connection_) world_.network().Detach(connection_, Connection::Side::kCaller);
  }

  const std::string& key() const { return key_; }
  // What it should have heard of these, and has not.
  std::optional<std::string> Judge(const std::map<int64_t, AnsweredWrite>& writes,
                                   StoredSums& sums) const {
    for (const auto& [revision, write] : writes) {
      if (revision > told_) break;
      const auto heard = heard_.find(revision);
      if (heard == heard_.end())
        return Concat(key_, ": revision ", revision, " was not told, and later ones were\n");
      if (heard->second.value != write.value)
        return Concat(key_, ": revision ", revision, " was told as ", heard->second.value, "\n");
      sums.behind += heard->second.answered_at - write.answered_at > kLagging ? 1 : 0;
    }
    sums.heard += heard_.size();
    return fault_;
  }

 private:
  void Connect() {
    world_.time().After(world_.time().PickSpan(kMs, kWatchAgain), [this] {
      connection_ = store_.Accept(site_, *this);
      world_.network().Say(connection_, Connection::Side::kCaller,
                           EncodeRequest({"WATCH", key_, std::to_string(told_)}));
    });
  }
  void Ended() override {
    connection_ = nullptr;
    received_.clear();
    Connect();
  }
  void Arrived(std::string_view bytes) override {
    received_ += bytes;
    ReplyReader reader;
    while (const std::optional<Reply> told = reader.Read(received_)) {
      received_.erase(0, reader.consumed());
      if (told->kind != Reply::Kind::kArray) continue;
      const int64_t revision = told->elements.front().integer;
      if (revision <= told_)
        fault_ = Concat(key_, ": revision ", revision, " was told behind ", told_, "\n");
      told_ = std::max(told_, revision);
      heard_[revision] = {std::stoll(told->elements.back().text), world_.time().now()};
    }
  }

  World& world_;
  Store& store_;
  const Site site_;
  const std::string key_;
  Network::Handle connection_;
  std::string received_;
  int64_t told_ = 0;
  std::map<int64_t, AnsweredWrite> heard_;  // by revision
  std::optional<std::string> fault_;
};

// --- the play

template <typename Model, typename Operation>
void SearchStored(const std::string& key, const std::vector<Operation>& history, StoredSums& sums,
                  std::optional<std::string>& complaint) {
  using Verdict = SearchResult::Verdict;
  const SearchResult found = Search<Model>::Run(history);
  ++sums.searched;
  if (found.verdict == Verdict::kTooMuch) ++sums.too_much;
  if (found.verdict == Verdict::kDoesNotFit)
    complaint = Concat(key, ": operation ", found.at, " fits no order, by search\n");
}

std::optional<std::string> SearchAll(const Records& records, const Promise& promise,
                                     StoredSums& sums) {
  const LockRules rules{.drift_ppm = promise.drift_ppm,
                        .grain_us = kStoreGrainUs,
                        .standstills = promise.standstills};
  std::optional<std::string> complaint;
  for (const auto& [key, lock] : records.locks)
    SearchStored<LockModel>(key, EventsOf(lock.attempts, rules), sums, complaint);
  for (const auto& [key, operations] : records.registers)
    SearchStored<RegisterModel>(key, operations, sums, complaint);
  return complaint;
}

void BreakSome(World& world) {
  world.time().After(world.Pick(1, kBreakEvery), [&world] {
    if (world.clients_rest()) return;
    if (const Network::Handle connection = world.network().Any()) world.network().Break(connection);
    BreakSome(world);
  });
}

void CountStored(const Records& records, StoredSums& sums) {
  sums.operations += records.operations();
  for (const auto& [key, lock] : records.locks) {
    for (const LockAttempt& attempt : lock.attempts) {
      sums.grants += attempt.answer == LockAttempt::Answer::kGranted ? 1 : 0;
      sums.unknown += attempt.answer == LockAttempt::Answer::kNone ? 1 : 0;
    }
  }
  for (const auto& [key, operations] : records.registers) {
    for (const RegisterOperation& operation : operations)
      sums.unknown += operation.span.answered() ? 0 : 1;
  }
}

}  // namespace

std::optional<std::string> PlayStoredClaims(uint64_t seed, Store::Fault fault, StoredSums& sums) {
  World world(seed);
  Store store(world, fault);
  AnsweredWrites writes;
  for (int i = 0; i < 4; ++i) world.AddClient<StoredClient>(store, writes);
  std::vector<std::unique_ptr<StoredWatcher>> watchers;
  for (const char* const key : kValues)
    watchers.push_back(std::make_unique<StoredWatcher>(world, store, key));
  world.set_clients_until(kStoredClientsUntil);
  store.Begin(kStoredClientsUntil);
  BreakSome(world);
  world.time().RunUntil(kStoredEnd);
  CountStored(world.records(), sums);
  const Promise promise{.drift_ppm = world.drift_ppm(), .standstills = store.standstills()};
  std::optional<std::string> complaint = Judge(world.records(), promise);
  const std::optional<std::string> by_search = SearchAll(world.records(), promise, sums);
  sums.found_by_search += by_search ? 1 : 0;
  if (!complaint) complaint = by_search;
  for (const auto& watcher : watchers) {
    if (!complaint) complaint = watcher->Judge(writes[watcher->key()], sums);
  }
  if (complaint) *complaint += "what was done:\n" + world.time().Told();
  return complaint;
}

}  // namespace sluice::cluster
