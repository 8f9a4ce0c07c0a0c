// Session: one client as the engine knows it. Bytes of requests go in through its parser, replies
// come out of its OutputBuffer; in between stand authentication, the selected database, the MULTI
// queue and whether it is blocked. It knows no socket: the Host carries the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/output_buffer.h"
#include "protocol/reply_writer.h"
#include "protocol/request_parser.h"
#include "server/clients/pending_input.h"
#include "storage/memory/boxed_text.h"
#include "storage/memory/int48.h"
#include "storage/memory/rare_part.h"
#include "storage/memory/small_text.h"

namespace sluice {

class User;

// A part's own state of a session (its MULTI queue, its subscriptions ...): only that part knows
// what is in it, and has a function that finds it: TransactionOf(session). MemoryBytes is all that
// the part keeps for the session, in tables of its own too; what several sessions share (a
// channel's name) is counted for one of them.
class SessionState {
 public:
  virtual ~SessionState() = default;
  virtual size_t MemoryBytes() const { return 0; }  // where CLIENT LIST counts it
};

// Slot and generation: a stale id finds no session.
struct SessionId {
  uint32_t slot = UINT32_MAX;  // of no client
  uint32_t generation = 0;
  bool operator==(const SessionId&) const = default;
};

// Where a client comes from, as CLIENT LIST shows it.
struct Peer {
  SmallText address;  // "127.0.0.1:54321", "[::1]:54321", "/path/to.sock:0"
  SmallText local_address;
  int descriptor = -1;  // for CLIENT LIST's fd=
  bool unix_socket = false;
  bool loopback = true;  // from this machine: protected-mode and enable-debug-command local
};

// Conditions of a session that gates look at; with none set a command runs straight away.
enum SessionCondition : uint16_t {
  kNeedsLogin = 1u << 0,
  kInMulti = 1u << 1,
  kSubscriber = 1u << 2,  // RESP2 client with subscriptions
  kInScript = 1u << 3,    // the stand-in client of a script: as in MULTI, nothing may block
  kInFenced = 1u << 4,    // FENCED runs its command: it may wait for keys alone
  kMonitor = 1u << 5,     // is shown all commands; as Redis has it, may not touch keys
  kRestricted = 1u << 6,  // its user may not do everything
  kReplicates = 1u << 7,  // a replica: it is sent the stream, and may not touch keys either
  kAsks = 1u << 8,        // ASKING was its last command, or the one before that
  kAsked = 1u << 9,       // the command that it was about has come
  // No gate looks at it: its output of this turn tells of a grant, so it leaves once that is kept,
  // or never (TurnGate).
  kTellsOfGrant = 1u << 10,
  // Nor at this, with lock-min-replicas: it has asked for data, or may be shown some
  // (GrantPromise).
  kSawData = 1u << 11,
};
inline constexpr uint16_t kNoConditions = kTellsOfGrant | kSawData;  // bits that are none of a gate

// What is at the other end. Most are clients. A replica is sent the stream; a master link, which
// this server has opened, is sent it from there. Their figures, limits and time-outs differ.
enum class SessionKind : uint8_t { kClient, kReplica, kMasterLink };
inline constexpr size_t kSessionKinds = 3;

// CLIENT REPLY. kSkipNext becomes kSkipping with the next command, and kOn behind it.
enum class ReplyMode : uint8_t { kOn, kOff, kSkipNext, kSkipping };
// In the order of strictness: kAfterReply sends what is there, kNow sends nothing more.
enum class CloseMode : uint8_t { kOpen, kAfterReply, kNow };

// What few sessions have: it is made with the first thing that is set there. Ten thousand idle
// connections are ten thousand sessions without it.
struct SessionRareParts {
  std::unique_ptr<SessionState> blocked_call;  // BlockedCall: Waiters' own
  std::unique_ptr<SessionState> transaction;   // Transaction: from MULTI or WATCH on, EXEC included
  std::unique_ptr<SessionState> subscriptions;  // Subscriptions: from the first one on
  std::unique_ptr<SessionState> tracking;       // TrackingState: while CLIENT TRACKING is on
  std::unique_ptr<SessionState> replica;        // Replica: from the first REPLCONF or PSYNC on
  // Exactly while its EXEC runs: what is pushed meanwhile, to be sent behind the reply.
  std::unique_ptr<std::string> pushes_after_exec;
  // A host program's sink for pushes that have a form (messages, lost locks); null: they are bytes.
  ReplySink* push_sink = nullptr;
  std::unique_ptr<ReplySink> replica_sink;  // of a replica: its `sink`
  size_t tracked_bytes = 0;                 // that Tracking keeps of keys which it has read
  size_t uncounted_bytes = 0;  // of accounted_bytes, what is not for eviction to make up for
  size_t waiting_beside = 0;   // bytes that wait for a replica in the backlog
  size_t image_bytes = 0;      // of its output: they are of a full sync, which has no limit
  int64_t over_soft_limit_since_ms = -1;
  std::optional<int64_t> needs_login_since_ms;  // none: since it was created
};

class Session {
 public:
  Session(SessionId id, uint64_t client_id, Peer peer, int64_t now_ms);
  ~Session();

  // --- identity
  const SessionId id;
  const uint64_t client_id;  // CLIENT ID: grows by one a connection
  Peer peer;
  BoxedText name;          // CLIENT SETNAME
  BoxedText library_name;  // CLIENT SETINFO
  BoxedText library_version;

  // --- state
  // The user whose rights it has; null: it may do everything (a log that is replayed). Users is
  // told before a user goes that sessions point to.
  const User* user = nullptr;
  RarePart<SessionRareParts> rare;
  uint32_t subscribed_to = 0;  // names of all kinds
  uint32_t host_bytes = 0;     // that the host keeps for it
  uint16_t conditions = 0;     // SessionCondition bits
  int16_t db = 0;
  Int48 created_ms;
  bool queued_to_send = false;  // in the engine's list of this turn
  bool received = false;        // has an Input of bytes that came for this turn
  // Every request is stopped by these three: beside each other they are one comparison.
  CloseMode close : 2 = CloseMode::kOpen;
  bool blocked : 1 = false;  // by a command: set exactly while there is a `blocked_call`
  bool paused : 1 = false;   // held back by CLIENT PAUSE or SnapshotBarrier
  SessionKind kind : 2 = SessionKind::kClient;  // Clients::SetKind changes it
  ReplyMode reply_mode : 2 = ReplyMode::kOn;
  bool requeued : 1 = false;  // in the engine's list of those with requests left in `pending`
  bool authenticated : 1 = false;
  bool no_evict : 1 = false;
  bool no_touch : 1 = false;
  bool reads_replica : 1 = false;  // READONLY, on a replica in a cluster
  bool keeps_caching : 1 = false;  // after its last command CLIENT CACHING is about the next still
  // It plays a log (or speaks for a master or an import): what it says has happened already, at
  // moments that may be ahead of this server's clock. Set by the code that reads such a source; no
  // command sets it, so clients can neither name tokens nor moments of the past.
  bool replays : 1 = false;
  // The Unix time that its command names stands for one of engine time: EffectTime::kRelative.
  bool replays_relative : 1 = false;
  bool peer_watched : 1 = false;  // Host::WatchPeer was called
  // A link's bytes are shown to its LinkListener as they are; and that one has left some of them in
  // `pending`, which nobody takes up until it says so.
  bool is_raw : 1 = false;
  bool is_stalled : 1 = false;

  // --- statistics
  int64_t active_ms;                          // when it last sent or took something
  uint64_t bytes_in = 0;                      // received from it, ever
  int64_t stream_seen = 0;                    // offset that the stream had behind its last command
  size_t accounted_bytes = 0;                 // of its memory, in Clients' sum
  const std::string* last_command = nullptr;  // its full name

  // --- bytes
  RequestParser parser;
  PendingInput pending;
  OutputBuffer output;
  ReplyWriter writer;
  // Where its answers go: `writer`, or what a host program has put there, which outlives the
  // session and gets values instead of bytes.
  ReplySink* sink = &writer;

  // Bytes of it wait that have to be taken up before more are read, or a link's listener wants
  // none.
  bool has_backlog() const { return requeued || is_stalled; }
  bool in_multi() const { return conditions & kInMulti; }
  bool in_exec() const { return rare.is_made() && rare->pushes_after_exec; }
  bool tracks() const { return rare.is_made() && rare->tracking; }  // CLIENT TRACKING is on
  int resp() const { return writer.version(); }
  bool subscribes() const { return subscribed_to > 0; }  // to anything at all
  // Since when kNeedsLogin is set. Requires: it is.
  int64_t needs_login_since_ms() const { return rare->needs_login_since_ms.value_or(created_ms); }
  // CLIENT LIST's tot-mem: all memory that the server keeps for this client, wherever it lies. Each
  // part counts what it keeps as that changes (SessionState), so that the sum is O(1).
  size_t MemoryBytes() const;
};
// The most of what an idle connection takes: malloc makes 384 bytes of one more.
static_assert(sizeof(Session) <= 320);

}  // namespace sluice
