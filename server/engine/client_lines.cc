// See client_lines.h. Tools parse these lines by the names of fields, so a field that has no
// meaning here still stands there with the value that Redis would show for an idle client.
#include "server/engine/client_lines.h"

#include "protocol/text/concat.h"
#include "server/access/user.h"
#include "server/dispatch/blocked_call.h"
#include "server/dispatch/transaction.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"

namespace sluice {
namespace {

// A row a letter, in Redis's order; "N" stands for none of them.
struct FlagLetter {
  char letter;
  bool (*holds)(const Session& session);
};
// O monitor, S replica, M master, P subscriber, x in MULTI, b waits, t tracks, R broken
// redirection, B broadcasting, d lost its WATCH, c closes after its reply, A closes at once, U Unix
// socket, e not evicted, T touches no keys.
constexpr FlagLetter kFlagLetters[] = {
    {'O', [](const Session& s) { return (s.conditions & kMonitor) != 0; }},
    {'S', [](const Session& s) { return s.kind == SessionKind::kReplica; }},
    {'M', [](const Session& s) { return s.kind == SessionKind::kMasterLink; }},
    {'P', [](const Session& s) { return s.subscribes(); }},
    {'x', [](const Session& s) { return QueueOf(s) != nullptr; }},
    {'b', [](const Session& s) { return s.blocked || s.paused; }},
    {'t', [](const Session& s) { return s.tracks(); }},
    {'R', [](const Session& s) { return s.tracks() && TrackingOf(s)->redirect_broken; }},
    {'B', [](const Session& s) { return s.tracks() && TrackingOf(s)->options.broadcast; }},
    {'d', [](const Session& s) { return s.rare->transaction && TransactionOf(s)->dirty; }},
    {'c', [](const Session& s) { return s.close == CloseMode::kAfterReply; }},
    {'A', [](const Session& s) { return s.close == CloseMode::kNow; }},
    {'U', [](const Session& s) { return s.peer.unix_socket; }},
    {'e', [](const Session& s) { return s.no_evict; }},
    {'T', [](const Session& s) { return s.no_touch; }},
};

// Never empty.
std::string FlagsOf(const Session& session) {
  std::string flags;
  for (const FlagLetter& row : kFlagLetters) {
    if (row.holds(session)) flags.push_back(row.letter);
  }
  return flags.empty() ? "N" : flags;
}

// The record is made with the first subscription.
size_t Subscribed(const Session& session, ChannelKind kind) {
  return session.rare->subscriptions ? SubscriptionsOf(session)->of(kind).count : 0;
}

// -1 without tracking, 0 without a redirection.
int64_t RedirectionOf(const Session& session) {
  return session.tracks() ? static_cast<int64_t>(TrackingOf(session)->options.redirect) : -1;
}

// Bytes of waiting replies beyond the buffer that Redis gives to every client, as it counts them.
size_t OutputMemory(const Session& session) {
  constexpr size_t kOwnBufferBytes = 16 * 1024;
  return session.output.bytes() > kOwnBufferBytes ? session.output.memory() : 0;
}

// The arguments' own bytes, without the protocol around them.
size_t BytesOf(Args args) {
  size_t bytes = 0;
  for (const std::string_view argument : args) bytes += argument.size();
  return bytes;
}

}  // namespace

std::string ClientLines::Describe(const Session& session, Args running) const {
  const Now now = clock_.now();
  std::string text;
  constexpr size_t kBlockBytes = OutputBuffer::kBlockBytes;
  const size_t output_memory = OutputMemory(session);
  const Transaction* queue = QueueOf(session);
  const Args arguments = running.empty() && session.rare->blocked_call
                             ? BlockedCallOf(session)->request.args()
                             : running;
  const size_t argument_bytes = BytesOf(arguments) + session.parser.argument_bytes();
  const size_t queued_bytes = queue ? queue->queue_bytes : 0;
  ConcatTo(text, "id=", session.client_id, " addr=", session.peer.address.view(),
           " laddr=", session.peer.local_address.view(), " fd=", session.peer.descriptor,
           " name=", session.name.view(), " age=", (now.ms() - session.created_ms) / 1000,
           " idle=", (now.ms() - session.active_ms) / 1000, " flags=", FlagsOf(session),
           " db=", session.db, " sub=", Subscribed(session, ChannelKind::kChannel),
           " psub=", Subscribed(session, ChannelKind::kPattern),
           " ssub=", Subscribed(session, ChannelKind::kShardChannel));
  ConcatTo(text, " multi=", queue ? static_cast<int64_t>(queue->queue.size()) : -1,
           " qbuf=", inputs_.UnparsedBytes(session),
           " qbuf-free=", session.pending.capacity() - session.pending.size(),
           " argv-mem=", argument_bytes, " multi-mem=", queued_bytes,
           " rbs=", session.output.memory(), " rbp=", session.output.memory(),
           " obl=", session.output.bytes(),
           " oll=", (output_memory + kBlockBytes - 1) / kBlockBytes, " omem=", output_memory,
           // The arguments of a request that waits are in the sum already.
           " tot-mem=", session.MemoryBytes() + BytesOf(running));
  const std::string_view command =
      session.last_command ? std::string_view(*session.last_command) : "NULL";
  ConcatTo(text, " events=", session.output.empty() ? "r" : "rw", " cmd=", command,
           " user=", session.user ? std::string_view(session.user->name()) : "(superuser)",
           " redir=", RedirectionOf(session), " resp=", session.resp(),
           " lib-name=", session.library_name.view(), " lib-ver=", session.library_version.view(),
           " tot-net-in=", session.bytes_in, " tot-net-out=", session.output.gone());
  return text;
}

}  // namespace sluice
