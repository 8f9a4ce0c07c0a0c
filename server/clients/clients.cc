// See clients.h. The difficulty: a session may end in the middle of anything: a limit is exceeded
// while a reply is being written, CLIENT KILL names the client whose command runs. So Close only
// marks it; SendAll gathers the ids of those that go, and the root drops them when the turn ends.
#include "server/clients/clients.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/clients/output_bound.h"
#include "server/clients/replica_sink.h"

namespace sluice {
namespace {

// Part of the once-a-second look at all clients: some 0.1 ms.
constexpr size_t kLookedAtPerCall = 1024;
// An effect is no longer than a request, and the master's client-query-buffer-limit may be another.
constexpr size_t kMasterRequestBytesMax = size_t{4} << 30;

bool Names(const std::vector<SessionId>& list, const Session& session) {
  return std::ranges::find(list, session.id) != list.end();
}

}  // namespace

void Clients::set_gate(OutputGate* gate) {
  gate_ = gate;
  ForEach([gate](Session& session) {
    OutputBuffer& output = session.output;
    output.set_may_leave(gate ? output.appended() : OutputBuffer::kEverything);
  });
}

// --- sessions

Session& Clients::Open(Peer peer) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  // A slot of a session that is gone gets a new generation: the old id finds nothing.
  const SessionId id{slot, slots_[slot].generation};
  const int64_t now_ms = clock_.now().ms();
  auto session = std::make_unique<Session>(id, next_client_id_++, std::move(peer), now_ms);
  session->writer.set_error_listener(this);
  session->authenticated = !initial_login_.needs_login;
  if (!session->authenticated) session->conditions |= kNeedsLogin;
  SetUser(*session, initial_login_.user, initial_login_.is_restricted);
  LimitOutput(*session);
  if (gate_) session->output.set_may_leave(0);
  Account(*session);
  ++CountOf(*session);
  slots_[slot].session = std::move(session);
  by_number_.insert(slot);
  spare_blocks_.KeepFor(++size_);
  ++statistics_.connections;
  return *slots_[slot].session;
}

// The number of the slot is free again, the number of the client is never given twice.
void Clients::Remove(Session& session) {
  const uint32_t slot = session.id.slot;
  by_number_.erase(slot);
  --CountOf(session);
  SetAccounted(session, 0);
  slots_[slot].session.reset();
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
  // A test double has thousands of servers, most of them without a client.
  spare_blocks_.KeepFor(--size_);
}

void Clients::SetKind(Session& session, SessionKind kind) {
  assert(session.kind == SessionKind::kClient);
  const size_t bytes = session.accounted_bytes;
  SetAccounted(session, 0);
  --CountOf(session);
  session.kind = kind;
  ++CountOf(session);
  SetAccounted(session, bytes);
  if (kind == SessionKind::kMasterLink) {
    SetUser(session, nullptr, /*is_restricted=*/false);
    SetLoggedIn(session, true);
  } else if (kind == SessionKind::kReplica) {
    session.conditions |= kReplicates;
    session.rare.Make().replica_sink = std::make_unique<ReplicaSink>(
        *this, [this, &session](std::string_view error) { CloseRogueReplica(session, error); });
    session.sink = session.rare->replica_sink.get();
  }
  LimitOutput(session);
}

// By the number that CLIENT ID tells; O(1).
Session* Clients::FindClient(uint64_t client_id) const {
  const auto found = by_number_.find(client_id);
  return found == by_number_.end() ? nullptr : slots_[*found].session.get();
}

// O(slots), in the order of slots, which says nothing about age. `visit` must not open or remove.
void Clients::ForEach(const std::function<void(Session&)>& visit) const {
  for (const Slot& slot : slots_) {
    if (slot.session) visit(*slot.session);
  }
}

// O(clients).
size_t Clients::MemoryBytes() const {
  size_t bytes = spare_blocks_.memory();
  ForEach([&](const Session& session) { bytes += session.MemoryBytes(); });
  return bytes;
}

size_t Clients::ReplicaBytes() const {
  size_t bytes = 0;
  if (replicas() == 0) return bytes;
  ForEach([&](const Session& session) {
    if (session.kind == SessionKind::kReplica) bytes += session.MemoryBytes();
  });
  return bytes;
}

void Clients::SetAccounting(bool on) {
  if (on == accounts_) return;
  accounts_ = on;
  ForEach([&](Session& session) { SetAccounted(session, on ? session.MemoryBytes() : 0); });
}

void Clients::EvictAbove(size_t bytes_max, absl::FunctionRef<bool(const Session&)> goes_last,
                         absl::FunctionRef<std::string(const Session&)> describe) {
  size_t left = accounted_bytes_ - exempt_bytes_;
  if (left <= bytes_max) return;
  std::vector<std::pair<bool, Session*>> in_order;  // whether it is one of the first to go
  size_t of_first = 0;
  ForEach([&](Session& session) {
    const bool is_client = session.kind == SessionKind::kClient;
    if (!is_client || session.no_evict || session.close == CloseMode::kNow) return;
    in_order.emplace_back(!goes_last(session), &session);
    of_first += in_order.back().first ? session.accounted_bytes : 0;
  });
  const bool suffices = left - of_first <= bytes_max;
  const auto rank = [suffices](const std::pair<bool, Session*>& item) {
    return std::pair(suffices && item.first, item.second->accounted_bytes);
  };
  std::ranges::make_heap(in_order, {}, rank);
  for (; left > bytes_max && !in_order.empty(); in_order.pop_back()) {
    std::ranges::pop_heap(in_order, {}, rank);
    Session* const session = in_order.back().second;
    left -= session->accounted_bytes;
    ++evicted_;
    host_.Log(LogLevel::kNotice, Concat("Evicting client: ", describe(*session)));
    session->output.Clear();
    Close(*session, CloseMode::kNow);
  }
}

// --- what a client is told

void Clients::Push(Session& session, std::initializer_list<std::string_view> pieces) {
  if (session.close != CloseMode::kOpen) return;
  if (session.kind == SessionKind::kReplica) [[unlikely]]
    return CloseRogueReplica(session);
  if (!session.in_exec()) [[likely]] {
    for (const std::string_view piece : pieces) session.output.Append(piece);
    return QueueSend(session);
  }
  std::string& held = *session.rare->pushes_after_exec;
  for (const std::string_view piece : pieces) held.append(piece);
  const uint64_t limit = OutputBound(OutputLimitOf(session).hard_bytes);
  if (limit == 0 || held.size() <= limit) return;
  CloseOverOutputLimit(session);
  QueueSend(session);
}

void Clients::QueueSend(Session& session) {
  if (session.output.overflowed()) [[unlikely]]
    CheckOutputLimit(session);
  if (session.queued_to_send) return;
  session.queued_to_send = true;
  to_send_.push_back(session.id);
}

void Clients::SendAll() {
  for (const SessionId id : to_send_) {
    Session* const session = Find(id);
    if (!session) continue;
    session->queued_to_send = false;
    if (session->close != CloseMode::kNow && !session->output.empty()) {
      // Before the host: the gate decides how much of the output may leave.
      if (gate_) [[unlikely]]
        gate_->TurnEnded(*session);
      const size_t before = session->output.bytes();
      if (session->output.sendable() > 0) host_.Send(*session);
      if (session->output.bytes() < before) session->active_ms = clock_.now().ms();
      if (!session->output.empty() || session->rare->over_soft_limit_since_ms >= 0) [[unlikely]]
        CheckOutputLimit(*session);
      Account(*session);
    }
    if (session->close == CloseMode::kNow ||
        (session->close == CloseMode::kAfterReply && session->output.empty())) {
      to_close_.push_back(id);
    }
  }
  to_send_.clear();
}

std::vector<SessionId> Clients::TakeClosed() { return std::exchange(to_close_, {}); }

bool Clients::Sent(Session& session) {
  session.active_ms = clock_.now().ms();
  CheckOutputLimit(session);
  Account(session);
  return session.output.empty() && session.close == CloseMode::kAfterReply;
}

// --- requests that are left over

void Clients::Resume(Session& session) {
  session.active_ms = clock_.now().ms();  // its waiting was not idleness
  if (!session.pending.empty()) Requeue(session);
}

void Clients::Requeue(Session& session) {
  if (session.requeued) return;
  session.requeued = true;
  requeued_.push_back(session.id);
}

std::vector<SessionId> Clients::TakeRequeued() { return std::exchange(requeued_, {}); }

// --- sessions that are closed, and why

void Clients::Close(Session& session, CloseMode mode) {
  session.close = std::max(session.close, mode);
  if (mode == CloseMode::kNow && closing_listener_) closing_listener_->Closing(session);
  QueueSend(session);
}

void Clients::CloseOverQueryLimit(Session& session) {
  ++statistics_.query_limit_closed;
  host_.Log(LogLevel::kWarning,
            Concat("closing client id ", session.client_id,
                   ": it reached the query buffer limit (client-query-buffer-limit)"));
  Close(session, CloseMode::kNow);
}

void Clients::CloseOverOutputLimit(Session& session) {
  if (session.close == CloseMode::kNow) return;
  ++statistics_.output_limit_closed;
  host_.Log(LogLevel::kWarning,
            Concat("closing client id ", session.client_id,
                   ": too many replies wait for it (client-output-buffer-limit)"));
  session.output.Clear();
  session.close = CloseMode::kNow;
}

void Clients::CloseRogueReplica(Session& session, std::string_view error) {
  constexpr size_t kErrorShownMax = 256;
  if (session.close == CloseMode::kNow) return;
  std::string_view command = "<unknown>";
  if (session.last_command) command = *session.last_command;
  host_.Log(LogLevel::kWarning,
            Concat("Replica generated a reply to command '", command,
                   "', disconnecting it: id=", session.client_id, " addr=", session.peer.address));
  if (!error.empty()) {
    if (error.starts_with("ERR ")) error.remove_prefix(4);
    ++statistics_.unexpected_error_replies;
    host_.Log(LogLevel::kWarning,
              Concat("== CRITICAL == This master is sending an error to its replica: '",
                     EscapedText(error, kErrorShownMax), "' after processing the command '",
                     command, "'"));
  }
  session.close = CloseMode::kNow;
  QueueSend(session);
}

size_t Clients::QueryBytesMax(const Session& session) const {
  if (session.kind == SessionKind::kMasterLink) return kMasterRequestBytesMax;
  const auto most = static_cast<size_t>(settings_.client_query_buffer_limit);
  return session.conditions & kNeedsLogin ? std::min(most, kQueryBytesBeforeLoginMax) : most;
}

// A monitor is sent more than it asks for, as a subscriber is. A stranger gets little, and a master
// is told as much as any client.
const OutputLimit& Clients::OutputLimitOf(const Session& session) const {
  static constexpr OutputLimit kBeforeLogin{.hard_bytes = kReplyBytesBeforeLoginMax};
  if (session.conditions & kNeedsLogin) return kBeforeLogin;
  if (session.kind == SessionKind::kReplica) return settings_.output_replica;
  const bool is_sent_pushes = session.subscribes() || (session.conditions & kMonitor);
  return is_sent_pushes ? settings_.output_pubsub : settings_.output_normal;
}

// The buffer itself holds to the hard limit, in the middle of a command too. A stranger's is looked
// at when it has been sent what it takes: the errors to a long pipeline are no offence.
void Clients::LimitOutput(Session& session) {
  const bool awaits_login = session.conditions & kNeedsLogin;
  uint64_t most = OutputBound(OutputLimitOf(session).hard_bytes);
  if (awaits_login) most = kTurnReplyBytesBeforeLoginMax;
  // Much of what waits for a replica lies elsewhere, and what lies here is bounded by who feeds it.
  if (session.kind == SessionKind::kReplica) most = 0;
  session.output.set_limit(most);
}

// Hard limit at once, soft limit when it has been exceeded for so long without a pause.
void Clients::CheckOutputLimit(Session& session) {
  if (session.close == CloseMode::kNow) return;
  OutputLimit limit = OutputLimitOf(session);
  if (session.kind == SessionKind::kReplica) [[unlikely]] {
    // As Redis: what may wait for all replicas together may wait for one.
    if (limit.hard_bytes > 0)
      limit.hard_bytes = std::max(limit.hard_bytes, settings_.repl_backlog_size);
  } else if (!(session.conditions & kNeedsLogin)) {
    limit.hard_bytes = OutputBound(limit.hard_bytes);
    limit.soft_bytes = OutputBound(limit.soft_bytes);
  }
  const size_t output_bytes = session.output.bytes();
  const size_t waiting_bytes = output_bytes - std::min(output_bytes, session.rare->image_bytes) +
                               session.rare->waiting_beside;
  const int64_t now_ms = clock_.now().ms();
  const bool soft = limit.soft_bytes > 0 && waiting_bytes > limit.soft_bytes;
  if (!soft) {
    if (session.rare.is_made()) session.rare.Make().over_soft_limit_since_ms = -1;
  } else if (session.rare->over_soft_limit_since_ms < 0) {
    session.rare.Make().over_soft_limit_since_ms = now_ms;
  }
  const bool soft_over =
      soft && now_ms - session.rare->over_soft_limit_since_ms > limit.soft_seconds * 1000;
  const bool hard_over =
      session.output.overflowed() || (limit.hard_bytes > 0 && waiting_bytes > limit.hard_bytes);
  if (soft_over || hard_over) CloseOverOutputLimit(session);
}

void Clients::ClassChanged(Session& session) {
  const bool restricted = session.resp() == 2 && session.subscribes();
  session.conditions &= ~kSubscriber;
  if (restricted) session.conditions |= kSubscriber;
  LimitOutput(session);
}

void Clients::LimitsChanged() {
  ForEach([this](Session& session) { LimitOutput(session); });
}

void Clients::SetInitialLogin(const InitialLogin& initial) {
  const bool was_needed = initial_login_.needs_login;
  initial_login_ = initial;
  if (was_needed == initial.needs_login) return;
  ForEach([this](Session& session) { SettleLogin(session); });
}

// The time at which a login became due is kept: such a connection is closed when it does not come.
void Clients::SettleLogin(Session& session) {
  const bool needs = initial_login_.needs_login && !session.authenticated;
  session.conditions &= ~kNeedsLogin;
  if (needs) session.conditions |= kNeedsLogin;
  if (needs) session.rare.Make().needs_login_since_ms = clock_.now().ms();
  LimitOutput(session);
}

void Clients::SetLoggedIn(Session& session, bool in) {
  session.authenticated = in;
  SettleLogin(session);
}

void Clients::SetUser(Session& session, const User* user, bool is_restricted) {
  session.user = user;
  session.conditions &= ~kRestricted;
  if (is_restricted) session.conditions |= kRestricted;
}

std::optional<size_t> Clients::CloseOverdue() {
  const size_t end = std::min(slots_.size(), look_.next_slot + kLookedAtPerCall);
  for (; look_.next_slot < end; ++look_.next_slot) {
    if (Session* session = slots_[look_.next_slot].session.get()) LookAt(*session);
  }
  if (look_.next_slot < slots_.size()) return std::nullopt;
  return std::exchange(look_, {}).bytes;
}

void Clients::LookAt(Session& session) {
  look_.bytes += session.MemoryBytes();
  Account(session);
  if (!session.output.empty()) CheckOutputLimit(session);
  // Requests that came before the limit was lowered.
  if (session.pending.size() > QueryBytesMax(session) && session.close != CloseMode::kNow)
    CloseOverQueryLimit(session);
  if (IsOverdue(session)) session.close = CloseMode::kNow;
  if (session.close == CloseMode::kNow) QueueSend(session);
}

// Idle for too long, or a stranger for too long. Whether a replica or a master still lives is asked
// by other means.
bool Clients::IsOverdue(Session& session) {
  const int64_t now_ms = clock_.now().ms();
  const int64_t idle_ms = settings_.timeout * 1000;
  const int64_t login_ms = settings_.login_timeout * 1000;
  const bool waits = session.kind != SessionKind::kClient || session.blocked || session.paused ||
                     session.subscribes() || (session.conditions & kMonitor);
  const bool is_silent = idle_ms > 0 && !waits && now_ms - session.active_ms > idle_ms;
  if (is_silent && !(keeps_ && keeps_(session))) return true;
  const bool awaits_login = login_ms > 0 && (session.conditions & kNeedsLogin) &&
                            now_ms - session.needs_login_since_ms() > login_ms;
  if (awaits_login && session.close != CloseMode::kNow) ++statistics_.login_timeout_closed;
  return awaits_login;
}

// Moves the times that are kept, so that ages stay as they are.
void Clients::TimeShifted(int64_t ms) {
  ForEach([ms](Session& session) {
    session.created_ms = session.created_ms + ms;
    session.active_ms += ms;
    if (!session.rare.is_made()) return;
    SessionRareParts& rare = session.rare.Make();
    if (rare.needs_login_since_ms) *rare.needs_login_since_ms += ms;
    if (rare.over_soft_limit_since_ms >= 0) rare.over_soft_limit_since_ms += ms;
  });
}

// --- what has to hold between two turns

std::string Clients::Audit() const {
  size_t sessions = 0, accounted = 0, exempt = 0, uncounted = 0;
  std::array<size_t, kSessionKinds> counts{};
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    const Session* const session = slots_[slot].session.get();
    if (!session) continue;
    ++sessions;
    accounted += session->accounted_bytes;
    uncounted += session->rare->uncounted_bytes;
    if (session->kind != SessionKind::kClient) exempt += session->accounted_bytes;
    ++counts[static_cast<size_t>(session->kind)];
    if (!(session->id == SessionId{static_cast<uint32_t>(slot), slots_[slot].generation}))
      return "a session is in another's slot";
    const auto found = by_number_.find(session->client_id);
    if (found == by_number_.end() || *found != slot)
      return "a client's number leads to another slot";
    if (std::string fault = AuditSession(*session); !fault.empty()) return fault;
  }
  const bool summed =
      accounted == accounted_bytes_ && exempt == exempt_bytes_ && uncounted == uncounted_bytes_;
  if (!summed) return "the memory of the clients is miscounted";
  const bool counted = sessions == size_ && counts == counts_ && sessions == by_number_.size() &&
                       sessions + free_slots_.size() == slots_.size();
  return counted ? "" : "the sessions are miscounted";
}

std::string Clients::AuditSession(const Session& session) const {
  if (session.blocked != (session.rare->blocked_call != nullptr))
    return "a client is blocked without a wait";
  if (session.in_exec()) return "a client runs EXEC between turns";
  if (session.received) return "a client waits for what it received in a turn";
  if (session.requeued != Names(requeued_, session)) return "a client's requests will never be run";
  if (session.queued_to_send != Names(to_send_, session))
    return "a client's replies will never be sent";
  if (session.in_multi() && !session.rare->transaction) return "MULTI without a queue";
  if (!session.output.Sound()) return "an output buffer's counts are wrong";
  const bool must_log_in = !session.authenticated && initial_login_.needs_login;
  if (must_log_in != ((session.conditions & kNeedsLogin) != 0))
    return "a client that has not logged in is let in, or the other way round";
  const bool hears_only = session.resp() == 2 && session.subscribes();
  if (hears_only != ((session.conditions & kSubscriber) != 0))
    return "a subscriber may do what it may not, or the other way round";
  if (session.conditions & (kInScript | kInFenced)) return "a client is inside a command";
  const bool replicates = session.kind == SessionKind::kReplica;
  if (replicates != ((session.conditions & kReplicates) != 0) ||
      replicates != (session.rare->replica_sink != nullptr))
    return "a replica may say what it may not, or the other way round";
  return "";
}

}  // namespace sluice
