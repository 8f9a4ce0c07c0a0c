// See limit_players.h.
#include "tests/simulation/limit_players.h"

#include <algorithm>
#include <ostream>
#include <utility>

namespace sluice {

void PrintTo(const LimitSaid& said, std::ostream* out) {
  *out << said.allowed << " of " << said.limit << " remain " << said.remaining << " retry "
       << said.retry_ms << " reset " << said.reset_ms << " at " << said.reset_at_ms;
}

namespace {

using enum LimitNumbers::Algorithm;

constexpr int kLimitPlayers = 4;
const char* const kNames[] = {"WINDOW", "ROLLING", "SLIDING", "LOG", "GCRA", "LEAKY"};
constexpr int64_t kMaxes[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12};

const char* NameOf(const LimitNumbers& numbers) {
  return kNames[static_cast<size_t>(numbers.algorithm)];
}
bool HasBurst(const LimitNumbers& numbers) {
  return numbers.algorithm == kRolling || numbers.algorithm == kGcra;
}

using Words = std::vector<std::string>;

std::string TextOf(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

void Append(Words& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

void AppendNumbers(Words& words, const LimitNumbers& numbers) {
  Append(words, {NameOf(numbers), std::to_string(numbers.max), std::to_string(numbers.period_ms)});
  if (HasBurst(numbers)) Append(words, {"BURST", std::to_string(numbers.burst)});
}

LimitSaid SaidBy(const Reply& reply) {
  LimitSaid said{-9, 0, 0, 0, 0, 0};
  if (reply.elements.size() != 6) {
    ADD_FAILURE() << "no verdict: " << reply.ToText();
    return said;
  }
  int64_t* const values[] = {&said.allowed,  &said.limit,    &said.remaining,
                             &said.retry_ms, &said.reset_ms, &said.reset_at_ms};
  for (size_t i = 0; i < 6; ++i) *values[i] = reply.elements[i].integer;
  return said;
}

}  // namespace

LimitPlayers::LimitPlayers(World& world) : world_(world), throttled_(AnyThrottle()) {
  players_.resize(kLimitPlayers);
  Restarted();
  for (const auto algorithm : {kWindow, kRolling, kSliding, kLog, kGcra, kLeaky}) {
    limits_.push_back(MakeLimit(algorithm));
  }
}

void LimitPlayers::Restarted() {
  watcher_ = NewPlayer().client;
  for (Player& player : players_) player = NewPlayer();
  for (Limit& limit : limits_) limit.waiters.clear();
}

// In a database that no other client swaps or flushes.
LimitPlayers::Player LimitPlayers::NewPlayer() {
  TestClient& client = world_.server().Connect();
  client.Run({"SELECT", "2"});
  return {&client};
}

LimitPlayers::Limit LimitPlayers::MakeLimit(LimitNumbers::Algorithm algorithm) {
  Limit limit;
  limit.usual = AnyNumbers(algorithm);
  limit.key = NameOf(limit.usual);
  ChangePolicy(players_.front(), limit);
  return limit;
}

LimitPlayers::Limit& LimitPlayers::AnyLimit() {
  return limits_[static_cast<size_t>(world_.Pick(0, 5))];
}

LimitNumbers LimitPlayers::AnyNumbers(LimitNumbers::Algorithm algorithm) {
  LimitNumbers numbers{.algorithm = algorithm, .max = kMaxes[world_.Pick(0, 9)]};
  numbers.period_ms = world_.Pick(1, 40);
  if (HasBurst(numbers)) numbers.burst = world_.Pick(algorithm == kGcra ? 0 : 1, 10);
  return numbers;
}

// Of which a unit comes every so many whole ms.
LimitNumbers LimitPlayers::AnyThrottle() {
  constexpr int64_t kCounts[] = {1, 2, 4, 5, 10, 100, 500};
  LimitNumbers numbers{.algorithm = kGcra, .max = kCounts[world_.Pick(0, 6)]};
  numbers.period_ms = 1000 * world_.Pick(1, 2);
  numbers.burst = world_.Pick(0, 20);
  return numbers;
}

LimitPlayers::Ask LimitPlayers::AnyAsk(const Limit& limit) {
  Ask ask{.numbers = limit.usual};
  if (world_.OneIn(5)) {
    ask.policy = true;
    ask.numbers = limit.policy;
  } else if (world_.OneIn(3)) {
    ask.numbers = AnyNumbers(limit.usual.algorithm);
  }
  if (world_.OneIn(2)) ask.cost = world_.Pick(0, ask.numbers.capacity() + 1);
  return ask;
}

LimitModel::Moment LimitPlayers::Now() {
  const sluice::Now now = world_.server().now();
  return {now.steady_us, now.unix_offset_ms};
}

void LimitPlayers::Play() {
  Player& player = players_[static_cast<size_t>(world_.Pick(0, kLimitPlayers - 1))];
  Limit& limit = AnyLimit();
  const int64_t what = world_.Pick(0, 99);
  if (what < 4) {
    HangUp(player);
  } else if (player.waits) {
    return;
  } else if (what < 35) {
    Take(player, limit);
  } else if (what < 45) {
    TakeOnce(player, limit);
  } else if (what < 60) {
    Wait(player, limit);
  } else if (what < 70) {
    TakeWatched(player, limit);
  } else if (what < 76) {
    TakeSeveral(player, limit, AnyLimit());
  } else if (what < 82) {
    Refund(player, limit);
  } else if (what < 87) {
    LookAt(player, limit);
  } else if (what < 90) {
    ChangePolicy(player, limit);
  } else if (what < 91) {
    Delete(player, limit);
  } else if (what < 95) {
    CountInBucket(player);
  } else if (world_.is_even) {
    Throttle(player);
  } else {
    PassMicros();
  }
  ServeAll();
}

void LimitPlayers::Passed() { ServeAll(); }

void LimitPlayers::Flushed() {
  for (Limit& limit : limits_) limit.model.Forget();
  bucket_.clear();
  throttle_.Forget();
  ServeAll();
}

void LimitPlayers::End() {
  for (const Player& player : players_) EXPECT_FALSE(player.waits) << "a waiter was forgotten";
}

// --- what they ask

namespace {

Words TakeCommand(const std::string& key, const LimitNumbers& numbers, bool policy, int64_t cost) {
  Words words{"LIMIT.TAKE", key};
  if (policy) {
    Append(words, {"POLICY", NameOf(numbers)});
  } else {
    AppendNumbers(words, numbers);
  }
  if (cost != 1) Append(words, {"COST", std::to_string(cost)});
  return words;
}

}  // namespace

void LimitPlayers::Take(Player& player, Limit& limit) {
  const Ask ask = AnyAsk(limit);
  Words words = TakeCommand(limit.key, ask.numbers, ask.policy, ask.cost);
  const int64_t how = world_.Pick(0, 9);
  const int64_t ban_ms = how == 0 ? world_.Pick(1, 30) : 0;
  if (ban_ms > 0) Append(words, {"BAN", std::to_string(ban_ms)});
  if (how == 1 || how == 2) words.push_back("SHADOW");  // the same, in every number
  if (how == 3) words.push_back("PEEK");
  const LimitSaid said = SaidBy(player.client->Run(words));
  const bool looks = how == 3 || ask.cost == 0;
  const LimitSaid expected = looks ? limit.model.Peek(ask.numbers, ask.cost, Now())
                                   : limit.model.Take(ask.numbers, ask.cost, ban_ms, Now());
  EXPECT_EQ(said, expected) << TextOf(words);
}

// Of few ids, so that many come again: some for the same, some for something else. FLUSHALL and DEL
// are no reason to forget an answer.
void LimitPlayers::TakeOnce(Player& player, Limit& limit) {
  const Ask ask = AnyAsk(limit);
  const std::string id = "id" + std::to_string(world_.Pick(0, 9));
  Words words = TakeCommand(limit.key, ask.numbers, ask.policy, ask.cost);
  Append(words, {"ID", id});
  int64_t for_ms = ask.numbers.period_ms;
  if (world_.OneIn(2)) {
    for_ms = world_.Pick(1, 90);
    Append(words, {"FOR", std::to_string(for_ms)});
  }
  const Reply reply = player.client->Run(words);
  const LimitModel::Moment now = Now();
  const auto before = answered_.find(id);
  if (before == answered_.end() || now.ms() >= before->second.at_ms + before->second.for_ms) {
    const LimitSaid said = ask.cost == 0 ? limit.model.Peek(ask.numbers, 0, now)
                                         : limit.model.Take(ask.numbers, ask.cost, 0, now);
    EXPECT_EQ(SaidBy(reply), said) << TextOf(words);
    if (ask.cost > 0) answered_[id] = {limit.key, ask.cost, said, now.ms(), for_ms};
    return;
  }
  const Answered& answered = before->second;
  if (answered.key != limit.key || answered.cost != ask.cost) {
    EXPECT_TRUE(reply.text.starts_with("ERR this ID is that of another")) << reply.ToText();
    return;
  }
  LimitSaid said = answered.said;
  const int64_t passed_ms = now.ms() - answered.at_ms;
  if (said.retry_ms > 0) said.retry_ms = std::max<int64_t>(0, said.retry_ms - passed_ms);
  said.reset_ms = std::max<int64_t>(0, said.reset_ms - passed_ms);
  said.reset_at_ms = now.ms() + now.unix_offset_ms + said.reset_ms;
  EXPECT_EQ(SaidBy(reply), said) << TextOf(words);
}

// A request that fits passes no waiter. Only a waiter that heads the queue brings a ban: which of
// several waits ends first within a ms is not promised, and a ban shows it.
void LimitPlayers::Wait(Player& player, Limit& limit) {
  Ask ask = AnyAsk(limit);
  if (limit.waiters.empty() && world_.OneIn(3)) ask.ban_ms = world_.Pick(1, 30);
  const int64_t wait_ms = world_.Pick(1, 60);
  Words words = TakeCommand(limit.key, ask.numbers, ask.policy, ask.cost);
  Append(words, {"WAIT", std::to_string(wait_ms)});
  if (ask.ban_ms > 0) Append(words, {"BAN", std::to_string(ask.ban_ms)});
  player.client->Send(words);
  const LimitSaid seen = limit.model.Peek(ask.numbers, ask.cost, Now());
  const bool may_wait = ask.cost > 0 && seen.retry_ms >= 0;
  if (may_wait && (!seen.allowed || !limit.waiters.empty())) {
    player.waits = true;
    limit.waiters.push_back({&player, ask, (Now().us + 999) / 1000 + wait_ms});
    return;
  }
  const std::optional<Reply> reply = player.client->Next();
  ASSERT_TRUE(reply) << TextOf(words) << " waits";
  EXPECT_EQ(SaidBy(*reply),
            ask.cost == 0 ? seen : limit.model.Take(ask.numbers, ask.cost, ask.ban_ms, Now()))
      << TextOf(words);
}

void LimitPlayers::TakeWatched(Player& player, Limit& limit) {
  if (!limit.waiters.empty()) return;  // the waiter that is served then would be seen, too
  watcher_->Run({"WATCH", limit.key});
  const Ask ask = AnyAsk(limit);
  const Words words = TakeCommand(limit.key, ask.numbers, ask.policy, ask.cost);
  const LimitSaid said = SaidBy(player.client->Run(words));
  EXPECT_EQ(said, ask.cost == 0 ? limit.model.Peek(ask.numbers, 0, Now())
                                : limit.model.Take(ask.numbers, ask.cost, 0, Now()))
      << TextOf(words);
  watcher_->Run({"MULTI"});
  watcher_->Run({"PING"});
  const bool failed = watcher_->Run({"EXEC"}).elements.empty();
  EXPECT_EQ(failed, said.allowed == 1 && ask.cost > 0) << TextOf(words);
}

void LimitPlayers::TakeSeveral(Player& player, Limit& one, Limit& other) {
  if (&one == &other) return;
  const Ask asks[] = {AnyAsk(one), AnyAsk(other)};
  Limit* const limits[] = {&one, &other};
  Words words{"LIMIT.ALL", "2", one.key, other.key};
  for (const auto& [numbers, policy, cost, ban_ms] : asks) {
    if (policy) {
      Append(words, {"POLICY", NameOf(numbers), std::to_string(cost)});
    } else {
      Append(words,
             {NameOf(numbers), std::to_string(numbers.max), std::to_string(numbers.period_ms),
              std::to_string(numbers.burst), std::to_string(cost)});
    }
  }
  LimitSaid expected[2];
  for (int i = 0; i < 2; ++i) {
    expected[i] = limits[i]->model.Peek(asks[i].numbers, asks[i].cost, Now());
  }
  const bool all = expected[0].allowed && expected[1].allowed;
  for (int i = 0; all && i < 2; ++i) {
    if (asks[i].cost == 0) continue;
    expected[i] = limits[i]->model.Take(asks[i].numbers, asks[i].cost, 0, Now());
  }
  const Reply reply = player.client->Run(words);
  ASSERT_EQ(reply.elements.size(), 3u) << reply.ToText();
  EXPECT_EQ(reply.elements[0].integer, all ? 1 : 0);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(SaidBy(reply.elements[i + 1]), expected[i]) << TextOf(words);
  }
}

void LimitPlayers::Refund(Player& player, Limit& limit) {
  if (limit.model.IsLeaving(Now())) return;
  const int64_t units = world_.Pick(1, 5);
  const Reply reply = player.client->Run({"LIMIT.REFUND", limit.key, std::to_string(units)});
  const std::optional<int64_t> remaining = limit.model.Refund(units, Now());
  ASSERT_EQ(reply.kind == Reply::Kind::kInteger, remaining.has_value()) << limit.key;
  if (remaining) {
    EXPECT_EQ(reply.integer, *remaining) << limit.key;
  }
}

void LimitPlayers::LookAt(Player& player, Limit& limit) {
  if (limit.model.IsLeaving(Now())) return;
  const Reply reply = player.client->Run({"LIMIT.INFO", limit.key});
  ASSERT_EQ(!reply.elements.empty(), limit.model.Exists(Now())) << limit.key;
  if (reply.elements.empty()) return;
  const LimitNumbers& numbers = limit.model.numbers();
  EXPECT_EQ(reply.elements.at(0).text, NameOf(numbers));
  EXPECT_EQ(reply.elements.at(1).integer, numbers.max);
  EXPECT_EQ(reply.elements.at(2).integer, numbers.period_ms);
  EXPECT_EQ(reply.elements.at(3).integer, numbers.burst);
  const LimitSaid seen = limit.model.Peek(numbers, 1, Now());
  EXPECT_EQ(reply.elements.at(6).integer, seen.reset_at_ms);
}

void LimitPlayers::ChangePolicy(Player& player, Limit& limit) {
  if (player.waits) return;
  limit.policy = AnyNumbers(limit.usual.algorithm);
  Words words{"LIMIT.POLICY", "SET", NameOf(limit.policy)};
  AppendNumbers(words, limit.policy);
  EXPECT_EQ(player.client->Run(words).ToText(), "+OK");
}

void LimitPlayers::Delete(Player& player, Limit& limit) {
  player.client->Run({"DEL", limit.key});
  limit.model.Forget();
}

void LimitPlayers::HangUp(Player& player) {
  player.client->Disconnect();
  for (Limit& limit : limits_) {
    std::erase_if(limit.waiters, [&](const Waiter& waiter) { return waiter.player == &player; });
  }
  player = NewPlayer();
}

void LimitPlayers::CountInBucket(Player& player) {
  const int64_t now_ms = Now().ms();
  std::erase_if(bucket_, [now_ms](int64_t due_ms) { return due_ms <= now_ms; });
  if (world_.OneIn(3)) {
    const Reply level = player.client->Run({"LBUCKET.GET", "bucket"});
    EXPECT_EQ(level.kind == Reply::Kind::kError ? "0" : level.text, std::to_string(bucket_.size()));
    return;
  }
  const int64_t seconds = world_.Pick(0, 1);
  player.client->Run({"LBUCKET.COUNT", "bucket", std::to_string(seconds)});
  bucket_.push_back(now_ms + std::max<int64_t>(1, seconds * 1000));
}

// It answers in whole seconds, rounded up.
void LimitPlayers::Throttle(Player& player) {
  const int64_t cost = world_.Pick(0, throttled_.burst + 2);
  const Reply reply = player.client->Run(
      {"CL.THROTTLE", "throttle", std::to_string(throttled_.burst), std::to_string(throttled_.max),
       std::to_string(throttled_.period_ms / 1000), std::to_string(cost)});
  ASSERT_EQ(reply.elements.size(), 5u) << reply.ToText();
  const LimitSaid said = cost == 0 ? throttle_.Peek(throttled_, cost, Now())
                                   : throttle_.Take(throttled_, cost, 0, Now());
  EXPECT_EQ(reply.elements[0].integer, 1 - said.allowed);
  EXPECT_EQ(reply.elements[1].integer, said.limit);
  EXPECT_EQ(reply.elements[2].integer, said.remaining);
  const int64_t retry_s = said.allowed || said.retry_ms < 0 ? -1 : (said.retry_ms + 999) / 1000;
  EXPECT_EQ(reply.elements[3].integer, retry_s) << said.retry_ms;
  EXPECT_EQ(reply.elements[4].integer, (said.reset_ms + 999) / 1000) << said.reset_ms;
}

// Not while others wait: they are served at whole ms after they asked. And not into the next ms,
// which is others' time, too.
void LimitPlayers::PassMicros() {
  for (const Limit& limit : limits_) {
    if (!limit.waiters.empty()) return;
  }
  world_.server().clock().AdvanceMicros(world_.Pick(0, 999 - Now().us % 1000));
  world_.server().Settle();
}

// --- who waits

namespace {

// A wait that ended in vain brings the ban even when its cost would fit by now.
void Ban(LimitModel& model, const LimitNumbers& numbers, int64_t ban_ms, LimitModel::Moment now) {
  constexpr int64_t kNeverFits = INT64_MAX;
  if (ban_ms > 0) model.Take(numbers, kNeverFits, ban_ms, now);
}

}  // namespace

void LimitPlayers::ServeAll() {
  for (Limit& limit : limits_) Serve(limit);
}

// The first goes as soon as it fits, or never will; a waiter whose time is over is told what PEEK
// says. In the ms in which several of this are due, any may come first.
void LimitPlayers::Serve(Limit& limit) {
  std::vector<LimitModel> so_far{limit.model};
  for (size_t i = 0; i < limit.waiters.size();) {
    const Waiter waiter = limit.waiters[i];
    const LimitNumbers numbers = waiter.ask.policy ? limit.policy : waiter.ask.numbers;
    const LimitSaid seen = limit.model.Peek(numbers, waiter.ask.cost, Now());
    const bool is_over = waiter.deadline_ms <= Now().ms();
    const bool may_go = i == 0 && (seen.allowed || seen.retry_ms < 0);
    if (!is_over && !may_go) {
      ++i;
      continue;
    }
    const std::optional<Reply> reply = waiter.player->client->Next();
    ASSERT_TRUE(reply) << limit.key << ": a waiter has no answer";
    const LimitSaid said = SaidBy(*reply);
    if (may_go && !(is_over && said.allowed == 0)) {
      EXPECT_EQ(said, limit.model.Take(numbers, waiter.ask.cost, waiter.ask.ban_ms, Now()))
          << limit.key;
    } else {
      EXPECT_TRUE(IsTimeOut(said, so_far, numbers, waiter.ask))
          << limit.key << ": " << reply->ToText();
      Ban(limit.model, numbers, waiter.ask.ban_ms, Now());
    }
    so_far.push_back(limit.model);
    waiter.player->waits = false;
    limit.waiters.erase(limit.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
}

// Whether it is what a waiter is told that has waited in vain, at one of these states.
bool LimitPlayers::IsTimeOut(const LimitSaid& said, const std::vector<LimitModel>& states,
                             const LimitNumbers& numbers, const Ask& ask) {
  return std::ranges::any_of(states, [&](LimitModel state) {
    Ban(state, numbers, ask.ban_ms, Now());
    LimitSaid expected = state.Peek(numbers, ask.cost, Now());
    if (expected.allowed) expected.retry_ms = 1;  // others go first
    expected.allowed = 0;
    return said == expected;
  });
}

}  // namespace sluice
