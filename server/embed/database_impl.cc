// See database_impl.h. The difficulty: anything may be gone after a callback, the database too: the
// caller of callbacks holds the core, which looks at itself again.
#include "server/embed/database_impl.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
inline namespace v1 {
namespace {

constexpr std::string_view kShut = "CLOSED the database is closed";
constexpr std::string_view kForked =
    "FORKED the files of this database belong to the process that opened it";
constexpr std::string_view kTooLong =
    "ERR too many words, or a word that is longer than proto-max-bulk-len";
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

}  // namespace

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

// --- its life

std::shared_ptr<DatabaseCore> DatabaseCore::Open(Options options, std::string& fault) {
  auto core = std::make_shared<DatabaseCore>();
  if (options.time) core->clock_ = std::make_unique<HostClock>(*options.time);
  core->time_ = options.time;
  if (!options.directory.empty()) core->fork_mark_ = std::make_unique<ForkMark>();
  const bool is_manual = options.time && options.time->IsManual();
  core->engine_ = std::make_unique<EmbeddedEngine>(
      EmbeddedEngine::Options{.clock = core->clock_.get(),
                              .folder = options.directory,
                              .settings = options.settings,
                              .seed = options.seed,
                              .zone_patience = is_manual ? kZonePatienceOfDoubles : kZonePatience,
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

size_t DatabaseCore::UsedMemory() {
  const Entry entry(*this);
  return !entry || shut_ ? 0 : engine_->UsedMemory();
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

}  // namespace v1
}  // namespace sluice
