// Clients: the sessions of all connections, and what leaves for them. A reply or a push is appended
// to a session's output; the session is queued, and at the end of the turn the host sends what can
// be sent. How much may wait for a client is bounded here (client-output-buffer-limit), and closing
// is decided here: a session that is to be closed goes at the end of the turn, too.
//
// The root (Assembly::Drop) forgets the rest of a session (its waits, subscriptions, locks) before
// Remove.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "protocol/null_sink.h"
#include "server/clients/host.h"
#include "server/clients/session.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/observe/statistics.h"

namespace sluice {

// A part that has to know at once when a client gets no more answers.
class ClosingListener {
 public:
  virtual ~ClosingListener() = default;
  virtual void Closing(Session& session) = 0;
};

// Decides when the answers of a turn may leave (OutputBuffer::set_may_leave): at the turn's end it
// is shown every output that the turn has made.
class OutputGate {
 public:
  virtual ~OutputGate() = default;
  virtual void TurnEnded(Session& session) = 0;
};

// The user of a connection before it has logged in: the default user.
struct InitialLogin {
  const User* user = nullptr;
  bool needs_login = false;
  bool is_restricted = false;
};

class Clients final : public ErrorListener {
 public:
  Clients(const Settings& settings, Host& host, TurnClock& clock, Statistics& statistics)
      : settings_(settings), host_(host), clock_(clock), statistics_(statistics) {}
  void set_closing_listener(ClosingListener& listener) { closing_listener_ = &listener; }
  // Says of a session that has long been silent whether it keeps something by being there, which
  // it would lose: it is not idle then.
  void set_keeper(std::function<bool(const Session&)> keeps) { keeps_ = std::move(keeps); }

  // With a gate nothing leaves that it has not let go. Null: every answer leaves with its turn.
  void set_gate(OutputGate* gate);

  // --- sessions
  Session& Open(Peer peer);
  void Remove(Session& session);
  // Null when gone.
  Session* Find(SessionId id) const {
    if (id.slot >= slots_.size()) return nullptr;
    const Slot& slot = slots_[id.slot];
    return slot.generation == id.generation ? slot.session.get() : nullptr;
  }
  Session* FindClient(uint64_t client_id) const;  // by CLIENT ID
  void ForEach(const std::function<void(Session&)>& visit) const;
  // From now on it is one of those, for good. A master link has every right and needs no login. A
  // replica is answered nothing (replica_sink.h). Requires: it is a client.
  void SetKind(Session& session, SessionKind kind);
  size_t size() const { return size_; }  // of all kinds
  size_t count(SessionKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  size_t replicas() const { return count(SessionKind::kReplica); }
  // INFO's connected_clients, to which Redis counts the link to a master.
  size_t connected() const { return size_ - replicas(); }
  size_t MemoryBytes() const;   // O(clients)
  size_t ReplicaBytes() const;  // of that, the replicas' share; O(clients)

  // --- memory of all clients, kept as it changes while there is a limit of memory
  void SetAccounting(bool on);
  void Account(Session& session) {
    if (!accounts_) [[likely]]
      return;
    SetAccounted(session, session.MemoryBytes());
  }
  // Requires: it is kept.
  size_t accounted_bytes() const { return accounted_bytes_; }
  // As Redis, of that all but what waits for replicas: the DEL of each evicted key is sent there,
  // and evictions would bring about more of them.
  size_t evictable_bytes() const { return accounted_bytes_ - uncounted_bytes_; }
  size_t uncounted_bytes() const { return uncounted_bytes_; }
  // At the end of a turn: closes the largest clients until the rest take no more than that, but
  // none of CLIENT NO-EVICT (which count, too, as in Redis). Replicas and master links neither
  // count nor go. Clients of whom `goes_last` is true are spared where closing others is enough.
  // O(clients) where the sum is too large.
  void EvictAbove(size_t bytes_max, absl::FunctionRef<bool(const Session&)> goes_last,
                  absl::FunctionRef<std::string(const Session&)> describe);
  uint64_t evicted() const { return evicted_; }
  void ResetStatistics() { evicted_ = 0; }

  // --- what a client is told
  ReplySink& SinkOf(Session& session) {
    return session.reply_mode == ReplyMode::kOn ? *session.sink
                                                : static_cast<ReplySink&>(null_sink_);
  }
  // Appends a push, `pieces` of whole RESP, to what the session is sent, unless it is to be closed;
  // behind EXEC's reply while it runs one. In its own command that is before what the handler has
  // still to answer.
  void Push(Session& session, std::initializer_list<std::string_view> pieces);
  // To be called when output was appended to a session outside its own command (unblock).
  void QueueSend(Session& session);
  // Hands each queued session's output to the host and notes the sessions that are to be closed.
  // One that closes after its reply stays until all is sent.
  void SendAll();
  bool any_to_send() const { return !to_send_.empty(); }
  // Blocks for the replies of this turn, which go from client to client: who has something to run
  // borrows one, and an idle one has none.
  OutputBuffer::Spares& spare_blocks() { return spare_blocks_; }
  // The sessions that are to be closed, by id: one may be named twice, and is gone after the first.
  std::vector<SessionId> TakeClosed();
  bool any_closed() const { return !to_close_.empty(); }
  void CloseLater(SessionId id) { to_close_.push_back(id); }
  // The host has sent some bytes that a session's Send had left behind. True: it was to be closed,
  // and can be now.
  bool Sent(Session& session);

  // --- requests that are left over
  // A blocked or paused session goes on: its input is taken up again.
  void Resume(Session& session);
  // It has requests left in `pending` for the next turn, in the order in which sessions came to
  // that.
  void Requeue(Session& session);
  bool any_requeued() const { return !requeued_.empty(); }
  std::vector<SessionId> TakeRequeued();

  // --- sessions that are closed, and why
  // Ends a session: kAfterReply sends what it has been answered, kNow sends nothing more and ends
  // its waits at once. A mode only gets stricter.
  void Close(Session& session, CloseMode mode);
  // It has sent more than client-query-buffer-limit that could not be run yet.
  void CloseOverQueryLimit(Session& session);
  // More replies or pushes wait for it than it may have (client-output-buffer-limit): they are
  // dropped. It goes with the next sending; the caller sees to QueueSend.
  void CloseOverOutputLimit(Session& session);
  // A replica has said something that is answered, by `error` if that is not empty; its stream has
  // no place for it. In Redis's words.
  void CloseRogueReplica(Session& session, std::string_view error = {});
  const OutputLimit& OutputLimitOf(const Session& session) const;
  void CheckOutputLimit(Session& session);
  // How much of what it has sent may wait. Before its login that is little, so that strangers
  // cannot fill the memory; a link takes more than any request has.
  size_t QueryBytesMax(const Session& session) const;
  // Its subscriptions, protocol or MONITOR changed: the commands it may call, and how much output
  // may wait for it, depend on them.
  void ClassChanged(Session& session);
  void LimitsChanged();  // client-output-buffer-limit
  // For connections to come; the others' need to log in is settled anew. A client that has logged
  // in stays so; where the default user has no password no client needs to.
  void SetInitialLogin(const InitialLogin& initial);
  const InitialLogin& initial_login() const { return initial_login_; }
  // The session is that user's from now on. `is_restricted`: the dispatcher asks for its rights.
  void SetUser(Session& session, const User* user, bool is_restricted);
  // Whether it has logged in. One that has not, and needs to, gets little.
  void SetLoggedIn(Session& session, bool in);
  // A slice of what is done once a second: idle clients, clients that do not log in, and soft
  // output limits of clients to which nothing new is sent. When all have been looked at: what they
  // take of memory; the next call begins anew.
  std::optional<size_t> CloseOverdue();

  void TimeShifted(int64_t ms);  // see Assembly::TimeShifted

  void ErrorSent(std::string_view text) override {
    if (counts_errors_) statistics_.CountError(text);
  }
  // False while an error is answered that has been counted where it arose.
  void set_counts_errors(bool on) { counts_errors_ = on; }

  // Between turns: the first violated invariant as a sentence, or empty.
  std::string Audit() const;

 private:
  struct Slot {
    std::unique_ptr<Session> session;
    uint32_t generation = 0;
  };
  using Slots = std::vector<Slot>;
  // A set of slots in which a client is found by its number: the session has that already, and a
  // map would keep it once more. Numbers are the server's choice, so their hash is absl's.
  struct NumberHash {
    using is_transparent = void;
    const Slots& slots;
    size_t operator()(uint64_t client_id) const {
      return absl::flat_hash_set<uint64_t>::hasher()(client_id);
    }
    size_t operator()(uint32_t slot) const { return (*this)(slots[slot].session->client_id); }
  };
  struct SameNumber {
    using is_transparent = void;
    const Slots& slots;
    bool operator()(uint32_t slot, uint64_t client_id) const {
      return slots[slot].session->client_id == client_id;
    }
    bool operator()(uint32_t slot, uint32_t other) const { return slot == other; }
  };

  void SetAccounted(Session& session, size_t bytes) {
    const size_t more = bytes - session.accounted_bytes;
    accounted_bytes_ += more;
    if (session.kind != SessionKind::kClient) exempt_bytes_ += more;
    session.accounted_bytes = bytes;
    if (session.kind == SessionKind::kReplica) [[unlikely]]
      SetUncounted(session, bytes > 0 ? session.output.memory() : 0);
  }
  void SetUncounted(Session& session, size_t bytes) {
    uncounted_bytes_ += bytes - session.rare->uncounted_bytes;
    session.rare.Make().uncounted_bytes = bytes;
  }
  size_t& CountOf(const Session& session) { return counts_[static_cast<size_t>(session.kind)]; }
  void LimitOutput(Session& session);
  void SettleLogin(Session& session);
  void LookAt(Session& session);
  bool IsOverdue(Session& session);
  std::string AuditSession(const Session& session) const;

  const Settings& settings_;
  Host& host_;
  TurnClock& clock_;
  Statistics& statistics_;
  std::function<bool(const Session&)> keeps_;
  ClosingListener* closing_listener_ = nullptr;
  OutputGate* gate_ = nullptr;
  InitialLogin initial_login_;
  NullSink null_sink_;
  Slots slots_;
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_set<uint32_t, NumberHash, SameNumber> by_number_{0, NumberHash{slots_},
                                                                   SameNumber{slots_}};
  size_t size_ = 0;
  std::array<size_t, kSessionKinds> counts_{};
  size_t accounted_bytes_ = 0;
  size_t exempt_bytes_ = 0;     // of these, of replicas and master links
  size_t uncounted_bytes_ = 0;  // of these, what waits for replicas
  uint64_t evicted_ = 0;
  bool accounts_ = false;
  bool counts_errors_ = true;
  uint64_t next_client_id_ = 1;
  struct {
    size_t next_slot = 0;
    size_t bytes = 0;                // of the sessions seen so far
  } look_;                           // at all clients, once a second
  std::vector<SessionId> requeued_;  // have requests left in `pending` for the next turn
  std::vector<SessionId> to_send_;
  std::vector<SessionId> to_close_;
  OutputBuffer::Spares spare_blocks_;
};

}  // namespace sluice
