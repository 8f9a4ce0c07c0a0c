// See database_impl.h. The difficulty: anything may be gone after a callback, the database too: the
// caller of callbacks holds the core, which looks at itself again.
#include "server/embed/database_impl.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "protocol/null_sink.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"

namespace sluice {
inline namespace v1 {
namespace {

constexpr std::string_view kShut = "CLOSED the database is closed";
constexpr std::string_view kForked =
    "FORKED the files of this database belong to the process that opened it";
constexpr std::string_view kPaused = "PAUSED clients are paused (CLIENT PAUSE)";
constexpr std::string_view kWaiting =
    "WAITING this client waits for an answer; take it, cancel it, or ask with another client";
constexpr std::string_view kTooLong =
    "ERR too many words, or a word that is longer than proto-max-bulk-len";
constexpr std::string_view kQueued = "QUEUED for EXEC, which will tell";
constexpr std::string_view kClientGone = "CLOSED this client was closed";
constexpr std::string_view kTooManyPushes =
    "CLOSED too many pushes were not taken: this client has lost its subscriptions";
// Bytes that may wait for one client, as Redis's limit for subscribers.
constexpr size_t kPushBytesMax = 32 * 1024 * 1024;
// Clients of waits that are over are kept for the next ones.
constexpr size_t kIdleMax = 16;

Reply ErrorReply(std::string_view line) { return Reply::Error(std::string(line)); }

size_t BytesOf(const Reply& reply) {
  size_t bytes = sizeof(Reply) + reply.text().size();
  for (const Reply& element : reply) bytes += BytesOf(element);
  return bytes;
}

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

// One call at a time; it knows no thread, so a database may move from one to another.
class DatabaseCore::Entry {
 public:
  explicit Entry(DatabaseCore& core)
      : core_(core), alone_(!core.entered_.exchange(true, std::memory_order_acquire)) {}
  ~Entry() {
    if (alone_) core_.entered_.store(false, std::memory_order_release);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const { return alone_; }

 private:
  DatabaseCore& core_;
  const bool alone_;
};

// A page that is empty in a child of fork().
class DatabaseCore::ForkMark {
 public:
  ForkMark()
      : bytes_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
        page_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) return;
    *static_cast<volatile char*>(page_) = 1;
    ::madvise(page_, bytes_, MADV_WIPEONFORK);
  }
  ~ForkMark() {
    if (page_ != MAP_FAILED) ::munmap(page_, bytes_);
  }
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;
  bool in_child() const {
    return page_ != MAP_FAILED && *static_cast<const volatile char*>(page_) == 0;
  }

 private:
  const size_t bytes_;
  void* const page_;
};

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

// --- its life

std::shared_ptr<DatabaseCore> DatabaseCore::Open(Options options, std::string& fault) {
  auto core = std::make_shared<DatabaseCore>();
  if (options.time) core->clock_ = std::make_unique<HostClock>(*options.time);
  core->time_ = options.time;
  if (!options.directory.empty()) core->fork_mark_ = std::make_unique<ForkMark>();
  core->engine_ =
      std::make_unique<EmbeddedEngine>(EmbeddedEngine::Options{.clock = core->clock_.get(),
                                                               .folder = options.directory,
                                                               .settings = options.settings,
                                                               .seed = options.seed,
                                                               .log = std::move(options.log)});
  fault = core->engine_->Start();
  if (!fault.empty()) {
    core->shut_ = true;
    return nullptr;
  }
  core->own_ = core->MakeClient();
  return core;
}

// Sessions go with the engine, and before what they answer into.
DatabaseCore::~DatabaseCore() { Shut(); }

std::string DatabaseCore::Shut() {
  if (std::exchange(shut_, true)) return {};
  std::string fault;
  if (!fork_mark_ || !fork_mark_->in_child()) fault = engine_->Finish();
  engine_.reset();
  for (const std::shared_ptr<WaitState>& wait : waits_) {
    if (!wait->is_over) wait->reply = ErrorReply(kShut);
    wait->is_over = true;
  }
  waits_.clear();
  clients_.clear();
  idle_.clear();
  return fault;
}

bool DatabaseCore::TryShut(std::string& fault) {
  const Entry entry(*this);
  if (!entry) return false;
  fault = Shut();
  return true;
}

DatabaseCore::State DatabaseCore::state() {
  const Entry entry(*this);
  if (!entry) return State::kBusy;
  return Refusal().empty() ? State::kOpen : State::kClosed;
}

std::string_view DatabaseCore::Refusal() const {
  if (shut_ || engine_->ended()) return kShut;
  if (fork_mark_ && fork_mark_->in_child()) return kForked;
  return {};
}

// --- clients

std::shared_ptr<ClientState> DatabaseCore::MakeClient() {
  auto client = std::make_shared<ClientState>();
  client->core = weak_from_this();
  client->replies.set_error_listener(&engine_->errors());
  client->pushes.set_completed_flag(&pushed_);
  client->id = engine_->Open(client->replies, client->pushes);
  clients_.push_back(client);
  return client;
}

Client DatabaseCore::Connect() {
  const Entry entry(*this);
  if (!entry || !Refusal().empty()) {
    auto client = std::make_shared<ClientState>();  // all that it answers is why
    client->core = weak_from_this();
    client->id.generation = UINT32_MAX;
    return Client(std::move(client));
  }
  return Client(MakeClient());
}

void DatabaseCore::Leave(ClientState& client) {
  const Entry entry(*this);
  if (!entry || shut_) return;
  engine_->Drop(client.id);
  std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
}

// --- commands

EmbeddedEngine::Outcome DatabaseCore::RunOn(ClientState& client, Words words, ReplySink* sink) {
  EmbeddedEngine::Outcome outcome = engine_->Run(client.id, words, sink);
  if (outcome == EmbeddedEngine::Outcome::kClosed && &client == own_.get() && !engine_->ended()) {
    client.id = engine_->Open(client.replies, client.pushes);  // QUIT, or CLIENT KILL
    outcome = engine_->Run(client.id, words, sink);
  }
  if (pushed_) [[unlikely]]
    GatherPushes();
  return outcome;
}

Reply DatabaseCore::Answer(ClientState& client, EmbeddedEngine::Outcome outcome) {
  using Outcome = EmbeddedEngine::Outcome;
  if (outcome == Outcome::kAnswered) [[likely]]
    return client.replies.Take();
  if (outcome == Outcome::kHeld) return ErrorReply(kPaused);
  if (outcome == Outcome::kTooLong) return ErrorReply(kTooLong);
  if (outcome == Outcome::kClosed) return ErrorReply(engine_->ended() ? kShut : kClientGone);
  if (outcome == Outcome::kUnsafe) {
    client.replies.Clear();
    return Reply::Error(Concat("IOERR the change is not in the log, which cannot be written: ",
                               engine_->write_fault()));
  }
  engine_->EndWait(client.id);
  return client.replies.Take();
}

Reply DatabaseCore::Run(ClientState& client, Words words) {
  const Entry entry(*this);
  if (!entry) return ErrorReply(kBusy);
  if (const std::string_view refusal = Refusal(); !refusal.empty()) return ErrorReply(refusal);
  if (words.empty()) return ErrorReply("ERR a command has at least one word");
  if (client.waits) return ErrorReply(kWaiting);
  if (engine_->IsHeld(client.id)) return ErrorReply(kPaused);
  return Answer(client, RunOn(client, words, nullptr));
}

// --- waiting

Ticket DatabaseCore::Start(const std::shared_ptr<ClientState>& client, Words words) {
  auto wait = std::make_shared<WaitState>();
  wait->core = weak_from_this();
  wait->client = client;
  const Entry entry(*this);
  if (!entry) {
    Refuse(*wait);
  } else if (const std::string_view refusal = Refusal(); !refusal.empty()) {
    Finish(*wait, ErrorReply(refusal));
  } else if (client->waits || engine_->IsHeld(client->id)) {
    Finish(*wait, ErrorReply(client->waits ? kWaiting : kPaused));
  } else {
    Begin(wait, words);
  }
  return Ticket(std::move(wait));
}

Ticket DatabaseCore::StartTicket(Words words) {
  auto wait = std::make_shared<WaitState>();
  wait->core = weak_from_this();
  const Entry entry(*this);
  if (!entry) {
    Refuse(*wait);
    return Ticket(std::move(wait));
  }
  if (const std::string_view refusal = Refusal(); !refusal.empty()) {
    Finish(*wait, ErrorReply(refusal));
    return Ticket(std::move(wait));
  }
  if (idle_.empty()) {
    wait->client = MakeClient();
    wait->client->is_for_tickets = true;
  } else {
    wait->client = std::move(idle_.back());
    idle_.pop_back();
  }
  wait->is_own_client = true;
  engine_->SelectLike(wait->client->id, own_->id);
  Begin(wait, words);
  return Ticket(std::move(wait));
}

void DatabaseCore::Begin(const std::shared_ptr<WaitState>& wait, Words words) {
  using Outcome = EmbeddedEngine::Outcome;
  if (words.empty()) return Finish(*wait, ErrorReply("ERR a command has at least one word"));
  ClientState& client = *wait->client;
  const Outcome outcome = RunOn(client, words, nullptr);
  if (outcome != Outcome::kWaits && outcome != Outcome::kHeld)
    return Finish(*wait, Answer(client, outcome));
  if (outcome == Outcome::kHeld) wait->words.assign(words.begin(), words.end());
  client.waits = true;
  waits_.push_back(wait);
}

// Touches nothing that another thread may see.
void DatabaseCore::Refuse(WaitState& wait) {
  wait.client.reset();
  wait.is_refused = true;
  Finish(wait, ErrorReply(kBusy));
}

// Its answer is there for good; the client is free.
void DatabaseCore::Finish(WaitState& wait, Reply reply) {
  wait.reply = std::move(reply);
  wait.is_over = true;
  if (!wait.client) return;
  wait.client->waits = false;
  if (wait.is_own_client && !shut_) {
    if (idle_.size() < kIdleMax && engine_->IsOpen(wait.client->id)) {
      idle_.push_back(wait.client);
    } else {
      engine_->Drop(wait.client->id);
      std::erase(clients_, wait.client);
    }
  }
  wait.client.reset();
}

bool DatabaseCore::LookInside(WaitState& wait) {
  if (wait.is_over) return true;
  ClientState& client = *wait.client;
  if (client.replies.has_reply()) {
    Finish(wait, client.replies.Take());
  } else if (!engine_->IsOpen(client.id)) {
    Finish(wait, ErrorReply(kClientGone));
  }
  return wait.is_over;
}

bool DatabaseCore::Look(WaitState& wait) {
  const Entry entry(*this);
  if (!entry) return wait.is_refused;
  if (wait.is_over) return wait.reply.has_value();
  if (shut_ || !LookInside(wait)) return false;
  if (!wait.on_ready) std::erase_if(waits_, [&](const auto& each) { return each.get() == &wait; });
  return true;
}

void DatabaseCore::Cancel(WaitState& wait) {
  const Entry entry(*this);
  if (!entry || shut_) return;
  if (!wait.is_over) {
    engine_->EndWait(wait.client->id);
    wait.client->replies.Clear();
    Finish(wait, {});
  }
  wait.reply.reset();
  wait.on_ready = nullptr;
  std::erase_if(waits_, [&](const auto& each) { return each.get() == &wait; });
}

void DatabaseCore::SetOnReady(const std::shared_ptr<WaitState>& wait,
                              std::function<void(Reply)> call) {
  const Entry entry(*this);
  if (!entry || shut_) return;
  wait->on_ready = std::move(call);
  if (std::ranges::find(waits_, wait) == waits_.end()) waits_.push_back(wait);
}

// A pause may be over.
void DatabaseCore::RetryHeld() {
  using Outcome = EmbeddedEngine::Outcome;
  for (size_t i = 0; i < waits_.size(); ++i) {
    const std::shared_ptr<WaitState> wait = waits_[i];
    if (wait->is_over || wait->words.empty() || engine_->IsHeld(wait->client->id)) continue;
    const std::vector<std::string> kept = std::exchange(wait->words, {});
    const std::vector<std::string_view> words(kept.begin(), kept.end());
    const Outcome outcome = RunOn(*wait->client, words, nullptr);
    if (outcome == Outcome::kHeld) {
      wait->words = kept;
    } else if (outcome != Outcome::kWaits) {
      Finish(*wait, Answer(*wait->client, outcome));
    }
  }
}

// --- pushes

void DatabaseCore::GatherPushes() {
  pushed_ = false;
  for (const std::shared_ptr<ClientState>& client : clients_) {
    if (client->pushes.has_reply()) Gather(*client);
  }
}

// The pushes of a client that the host cannot ask are the database's.
void DatabaseCore::Gather(ClientState& client) {
  ClientState& to = client.is_for_tickets ? *own_ : client;
  for (Reply& push : client.pushes.TakeAll()) {
    to.event_bytes += BytesOf(push);
    to.events.push_back(std::move(push));
  }
  if (to.event_bytes <= kPushBytesMax) return;
  engine_->Drop(to.id);
  to.events.clear();
  to.event_bytes = 0;
  to.events.push_back(ErrorReply(kTooManyPushes));
}

std::optional<Reply> DatabaseCore::NextPush(ClientState& client) {
  const Entry entry(*this);
  if (!entry || client.events.empty()) return std::nullopt;
  Reply push = std::move(client.events.front());
  client.events.pop_front();
  client.event_bytes -= std::min(client.event_bytes, BytesOf(push));
  return push;
}

void DatabaseCore::SetOnPush(ClientState& client, std::function<void(const Reply&)> call) {
  const Entry entry(*this);
  if (entry) client.on_push = std::move(call);
}

// --- time

Time DatabaseCore::Now() {
  if (time_) return time_->Steady();
  const Entry entry(*this);
  return Time(!entry || shut_ ? 0 : engine_->NowUs());
}

std::optional<Time> DatabaseCore::NextDeadline() {
  const Entry entry(*this);
  if (!entry || !Refusal().empty()) return std::nullopt;
  const Time now = time_ ? time_->Steady() : Time(engine_->NowUs());
  const bool has_calls =
      std::ranges::any_of(waits_,
                          [&](const auto& wait) { return wait->on_ready && LookInside(*wait); }) ||
      std::ranges::any_of(
          clients_, [](const auto& client) { return client->on_push && !client->events.empty(); });
  if (has_calls) return now;
  const std::optional<int64_t> until_us = engine_->UntilWorkUs();
  return until_us ? std::optional(now + Time(*until_us)) : std::nullopt;
}

void DatabaseCore::RunUntil(Time moment) {
  const std::shared_ptr<DatabaseCore> held = shared_from_this();
  while (true) {
    {
      const Entry entry(*this);
      if (!entry || !Refusal().empty()) return;
      engine_->Work();
      RetryHeld();
      if (pushed_) GatherPushes();
    }
    if (!CallBack()) return;
    const Entry entry(*this);
    if (!entry || !Refusal().empty() || !time_) return;
    const Time now = time_->Steady();
    if (now >= moment) return;
    Time next = moment;
    // At least the next microsecond: a deadline may be named too early, but never again and again.
    if (const std::optional<int64_t> until_us = engine_->UntilWorkUs())
      next = std::min(moment, now + Time(std::max<int64_t>(*until_us, 1)));
    if (!time_->MoveTo(next)) return;
  }
}

// False: the database is gone.
bool DatabaseCore::CallBack() {
  while (CallBackOnce()) {
    if (shut_) return false;
  }
  return !shut_;
}

// Takes the callback out before it is called: one that throws is not called again.
bool DatabaseCore::CallBackOnce() {
  std::function<void(Reply)> ready;
  std::function<void(const Reply&)> push;
  Reply reply;
  {
    const Entry entry(*this);
    if (!entry || shut_) return false;
    const auto wait = std::ranges::find_if(
        waits_, [&](const auto& each) { return each->on_ready && LookInside(*each); });
    if (wait != waits_.end()) {
      ready = std::exchange((*wait)->on_ready, nullptr);
      reply = (*wait)->reply ? std::move(*(*wait)->reply) : Reply();
      (*wait)->reply.reset();
      waits_.erase(wait);
    } else {
      const auto client = std::ranges::find_if(
          clients_, [](const auto& each) { return each->on_push && !each->events.empty(); });
      if (client == clients_.end()) return false;
      push = (*client)->on_push;
      reply = std::move((*client)->events.front());
      (*client)->events.pop_front();
      (*client)->event_bytes -= std::min((*client)->event_bytes, BytesOf(reply));
    }
  }
  if (ready) {
    ready(std::move(reply));
  } else {
    push(reply);
  }
  return true;
}

// --- in fewer words

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

size_t DatabaseCore::UsedMemory() {
  const Entry entry(*this);
  return !entry || shut_ ? 0 : engine_->UsedMemory();
}

}  // namespace v1
}  // namespace sluice
