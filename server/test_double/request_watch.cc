// See request_watch.h. The difficulty: a session may be closed, and a rule deleted, while a request
// of it is held. So a request keeps a copy of the action, and is found by its session.
#include "server/test_double/request_watch.h"

#include <algorithm>
#include <utility>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/core/slow_path_flags.h"
#include "server/core/turn_clock.h"
#include "server/locks/lock_service.h"
#include "storage/locks/fence.h"

namespace sluice {
namespace {

using Kind = FaultAction::Kind;

// Commands that only a test double serves are neither hit nor shown.
bool IsOfTestDouble(const Command& command) { return (command.spec->flags & kOfTestDouble) != 0; }

// Bytes of the output from that position on.
size_t BytesFrom(const Session& session, uint64_t from) {
  return static_cast<size_t>(session.output.appended() - from);
}

}  // namespace

RequestWatch::~RequestWatch() {
  for (auto& [client, request] : requests_) on_.timers.Disarm(*request);
}

// --- rules

uint64_t RequestWatch::AddFault(uint64_t client, Args words, std::string& fault) {
  const uint64_t id = faults_.Add(client, words, fault);
  Watch();
  return id;
}

bool RequestWatch::DeleteFault(uint64_t id) {
  if (!faults_.Delete(id)) return false;
  std::vector<Request*> held;
  for (auto& [client, request] : requests_) {
    if (request->fault == id) held.push_back(request.get());
  }
  std::ranges::sort(held, {}, &Request::number);
  for (Request* request : held) RuleIsGone(*request);
  Watch();
  return true;
}

size_t RequestWatch::ClearFaults() {
  const size_t rules = faults_.Clear();
  std::vector<Request*> held;
  for (auto& [client, request] : requests_) held.push_back(request.get());
  std::ranges::sort(held, {}, &Request::number);
  for (Request* request : held) RuleIsGone(*request);
  Watch();
  return rules;
}

void RequestWatch::StartJournal(size_t entries_max) {
  journal_.Start(entries_max);
  Watch();
}

void RequestWatch::StopJournal() {
  journal_.Stop();
  Watch();
}

void RequestWatch::Reset() {
  ClearFaults();
  faults_.Reset();
  journal_ = {};
  for (auto& [client, request] : requests_) request->entry = 0;
  Watch();
}

void RequestWatch::Watch() {
  if (faults_.empty() && requests_.empty() && !journal_.is_on()) {
    on_.flags.Lower(SlowPathFlags::kHooked);
  } else {
    on_.flags.Raise(SlowPathFlags::kHooked);
  }
}

// --- requests

RequestWatch::Request* RequestWatch::Find(const Session& session) {
  const auto found = requests_.find(session.client_id);
  return found == requests_.end() ? nullptr : found->second.get();
}

RequestWatch::Request& RequestWatch::Make(const Session& session) {
  auto& request = requests_[session.client_id];
  request = std::make_unique<Request>(*this, session);
  request->from = session.output.appended();
  return *request;
}

void RequestWatch::Finish(const Session& session) {
  const auto found = requests_.find(session.client_id);
  if (found == requests_.end()) return;
  on_.timers.Disarm(*found->second);
  requests_.erase(found);
  Watch();
}

void RequestWatch::Forget(const Session& session) { Finish(session); }

RequestHook::Ruling RequestWatch::Arrived(Session& session, const Arrival& arrival) {
  if (Request* const held = Find(session)) {
    held->stage = Stage::kRuns;
    held->from = session.output.appended();
    return held->action.after ? Before(session, *held) : Ruling::kRun;
  }
  if (session.replays || (arrival.command && IsOfTestDouble(*arrival.command))) return Ruling::kRun;
  std::string text;
  const FaultRule* const rule = faults_.Hit(session, arrival, text);
  if (!rule && !journal_.is_on()) return Ruling::kRun;
  Request& request = Make(session);
  if (journal_.is_on())
    request.entry =
        journal_.Add(session, arrival.command, arrival.words, on_.clock.now().unix_ms());
  if (!rule) return Ruling::kRun;
  request.fault = rule->id;
  request.action = rule->action;
  request.refusal = {std::move(text), !rule->action.is_state};
  const bool waits = rule->action.kind == Kind::kDelay || rule->action.kind == Kind::kHang;
  journal_.Hit(request.entry, {.rule = rule->id,
                               .was_run = waits || rule->action.after,
                               .changes_answer = !waits && rule->action.kind != Kind::kSplit});
  return Before(session, request);
}

RequestHook::Ruling RequestWatch::Before(Session& session, Request& request) {
  if (request.action.after) {
    session.output.HoldFrom(request.from);
    return Ruling::kRun;
  }
  switch (request.action.kind) {
    case Kind::kError:
      return Ruling::kRefused;
    case Kind::kDelay:
    case Kind::kHang:
      request.stage = Stage::kBefore;
      session.paused = true;
      SetTimer(request);
      return Ruling::kHeld;
    case Kind::kClose:
      on_.clients.Close(session, CloseMode::kAfterReply);
      return Ruling::kSilent;
    case Kind::kFailover:
      FailOver(request.fault);
      return Ruling::kSilent;
    default:
      return Ruling::kSilent;
  }
}

RequestHook::Refusal RequestWatch::RefusalOf(const Session& session) {
  return Find(session)->refusal;
}

void RequestWatch::HeldBack(Session& session) {
  Request* const request = Find(session);
  (request ? *request : Make(session)).stage = Stage::kMayRun;
  session.output.HoldFrom(OutputBuffer::kEverything);
}

void RequestWatch::Ran(Session& session, const RequestHook::Done& done) {
  Request* const request = Find(session);
  if (!request) return;
  if (done.was_run) journal_.Words(request->entry, done.args, done.secret);
  if (!session.blocked) return After(session, *request);
  session.output.HoldFrom(OutputBuffer::kEverything);  // pushes may come while it waits
}

void RequestWatch::Answering(Session& session) {
  if (Request* const request = Find(session)) request->from = session.output.appended();
}

void RequestWatch::Answered(Session& session) {
  if (Request* const request = Find(session)) After(session, *request);
}

// --- what happens to an answer

void RequestWatch::After(Session& session, Request& request) {
  session.output.HoldFrom(OutputBuffer::kEverything);
  size_t bytes = BytesFrom(session, request.from);
  const bool holds = request.action.after && Change(session, request, bytes);
  if (request.entry != 0) {
    const std::string answer = session.output.CopyLast(bytes, Journal::kAnswerBytesMax);
    journal_.Answer(request.entry, answer, bytes - answer.size(), on_.clock.now().unix_ms());
  }
  holds ? HoldAnswer(session, request) : Finish(session);
}

// The last `bytes` of the output, which are the answer, are not what they were. True: they are, and
// are to be held.
bool RequestWatch::Change(Session& session, Request& request, size_t& bytes) {
  const FaultAction& action = request.action;
  const uint64_t end = session.output.appended();
  switch (action.kind) {
    case Kind::kDelay:
    case Kind::kHang:
    case Kind::kSplit:
      return bytes > 0;
    case Kind::kError:
      session.output.DropLast(bytes);
      on_.clients.SinkOf(session).Error(request.refusal.text);
      bytes = BytesFrom(session, end);
      return false;
    case Kind::kTruncate:
      if (bytes > action.bytes) session.output.DropLast(bytes - action.bytes);
      bytes = std::min(bytes, action.bytes);
      on_.clients.Close(session, CloseMode::kAfterReply);
      return false;
    default:
      session.output.DropLast(bytes);
      bytes = 0;
      if (action.kind == Kind::kClose) on_.clients.Close(session, CloseMode::kAfterReply);
      if (action.kind == Kind::kFailover) FailOver(request.fault);
      return false;
  }
}

void RequestWatch::HoldAnswer(Session& session, Request& request) {
  session.paused = true;
  session.output.HoldFrom(request.from);
  if (request.action.kind == Kind::kSplit) {
    request.stage = Stage::kSplit;
    request.until = session.output.appended();
    splits_.push_back(session.id);
  } else {
    request.stage = Stage::kAfter;
    SetTimer(request);
  }
}

// A frozen clock holds a delay of its time; one of real time ends all the same.
void RequestWatch::SetTimer(Request& request) {
  if (request.action.kind != Kind::kDelay) return;
  if (!request.action.real) {
    request.fired = [](TimerTask& task) {
      Request& due = static_cast<Request&>(task);
      due.whose.Release(due);
    };
    return on_.timers.Arm(request, on_.clock.now().ms() + request.action.ms);
  }
  on_.host.CallAfter(request.action.ms,
                     [self = std::weak_ptr(self_), id = request.session, number = request.number] {
                       const std::shared_ptr<RequestWatch*> watch = self.lock();
                       Session* const session = watch ? (*watch)->on_.clients.Find(id) : nullptr;
                       Request* const due = session ? (*watch)->Find(*session) : nullptr;
                       if (due && due->number == number) (*watch)->Release(*due);
                     });
}

// Lets the request go on: it will be shown again, or the answer may leave.
void RequestWatch::Release(Request& request) {
  if (request.stage != Stage::kBefore && request.stage != Stage::kAfter) return;
  Session& session = *on_.clients.Find(request.session);
  on_.timers.Disarm(request);
  session.paused = false;
  session.output.HoldFrom(OutputBuffer::kEverything);
  if (request.stage == Stage::kBefore) {
    request.stage = Stage::kMayRun;
  } else {
    Finish(session);
    on_.clients.QueueSend(session);
  }
  on_.clients.Resume(session);
}

// Its request goes on, and an answer that is still to come is left alone.
void RequestWatch::RuleIsGone(Request& request) {
  if (request.stage == Stage::kRuns) request.action.after = false;
  Release(request);
}

// --- SPLIT

void RequestWatch::BeginTurn() {
  std::erase_if(splits_, [this](SessionId id) {
    Session* const session = on_.clients.Find(id);
    Request* const request = session ? Find(*session) : nullptr;
    if (!request || request->stage != Stage::kSplit) return true;
    OutputBuffer& output = session->output;
    if (output.gone() < request->from) return false;
    if (request->from < std::min(request->until, output.appended())) {
      output.HoldFrom(++request->from);
      on_.clients.QueueSend(*session);
      return false;
    }
    output.HoldFrom(OutputBuffer::kEverything);
    session->paused = false;
    Finish(*session);
    on_.clients.QueueSend(*session);
    on_.clients.Resume(*session);
    return true;
  });
}

bool RequestWatch::any_to_send() const {
  return std::ranges::any_of(splits_, [this](SessionId id) {
    const Session* const session = on_.clients.Find(id);
    const auto found = session ? requests_.find(session->client_id) : requests_.end();
    return found == requests_.end() || session->output.gone() >= found->second->from;
  });
}

// --- FAILOVER

// As a client sees it: every connection ends, and who connects again meets a server whose tokens
// are far above those it had.
void RequestWatch::FailOver(uint64_t rule) {
  const auto found = faults_.rules().find(rule);
  const uint64_t owner = found == faults_.rules().end() ? 0 : found->second.owner;
  FenceTokens& tokens = on_.locks.tokens();
  const int64_t reached = std::max(tokens.last(), on_.clock.now().unix_ms());
  tokens.JumpPast(std::min(reached + kTokenJump, tokens.mark()));
  on_.clients.ForEach([&](Session& session) {
    if (session.client_id != owner) on_.clients.Close(session, CloseMode::kNow);
  });
}

}  // namespace sluice
