// CLIENT LIST and CLIENT INFO: one line a client, Redis 7.0's fields in its order and 7.2's names
// of libraries behind them.
//
// Tools parse these lines by the names of fields, so a field that has no meaning here still stands
// there with the value that Redis would show for an idle client.

#include <algorithm>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/commands/clients/client_commands.h"
#include "server/commands/clients/client_filter.h"
#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/parked.h"
#include "server/dispatch/transaction.h"
#include "server/engine/inputs.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

// A row a letter, in Redis's order; "N" stands for none of them.
struct FlagLetter {
  char letter;
  bool (*holds)(const Session& session);
};
// O monitor, P subscriber, x in MULTI, b waits, t tracks, R broken redirection, B broadcasting, d
// lost its WATCH, c closes after its reply, A closes at once, U Unix socket, e not evicted, T
// touches no keys.
constexpr FlagLetter kFlagLetters[] = {
    {'O', [](const Session& s) { return (s.conditions & kMonitor) != 0; }},
    {'P', [](const Session& s) { return s.subscribes(); }},
    {'x', [](const Session& s) { return QueueOf(s) != nullptr; }},
    {'b', [](const Session& s) { return s.blocked || s.paused; }},
    {'t', [](const Session& s) { return s.tracking != nullptr; }},
    {'R', [](const Session& s) { return s.tracking && TrackingOf(s)->redirect_broken; }},
    {'B', [](const Session& s) { return s.tracking && TrackingOf(s)->options.broadcast; }},
    {'d', [](const Session& s) { return s.transaction && TransactionOf(s)->dirty; }},
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
  return session.subscriptions ? SubscriptionsOf(session)->of(kind).count : 0;
}

// -1 without tracking, 0 without a redirection.
int64_t RedirectionOf(const Session& session) {
  return session.tracking ? static_cast<int64_t>(TrackingOf(session)->options.redirect) : -1;
}

// What replies that wait take beyond the buffer that Redis gives to every client, as it counts
// them.
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

// Of the request that runs, or waits.
size_t ArgumentBytes(const CommandCall& call, const Session& session) {
  if (&session == &call.client) return BytesOf(call.args);
  return session.parked ? BytesOf(ParkedOf(session)->request.args()) : 0;
}

// Ages and idle times are whole seconds of engine time, so a step of the wall clock does not show
// in them.
void AddLine(std::string& text, const CommandCall& call, const Session& session) {
  const Now& now = call.now;
  constexpr size_t kBlockBytes = OutputBuffer::kBlockBytes;
  const size_t output_memory = OutputMemory(session);
  const Transaction* queue = QueueOf(session);
  const size_t argument_bytes = ArgumentBytes(call, session);
  const size_t queued_bytes = queue ? queue->queue_bytes : 0;
  ConcatTo(text, "id=", session.client_id, " addr=", session.peer.address,
           " laddr=", session.peer.local_address, " fd=", session.peer.descriptor,
           " name=", session.name, " age=", (now.ms() - session.created_ms) / 1000,
           " idle=", (now.ms() - session.active_ms) / 1000, " flags=", FlagsOf(session),
           " db=", session.db, " sub=", Subscribed(session, ChannelKind::kChannel),
           " psub=", Subscribed(session, ChannelKind::kPattern),
           " ssub=", Subscribed(session, ChannelKind::kShardChannel));
  ConcatTo(text, " multi=", queue ? static_cast<int64_t>(queue->queue.size()) : -1,
           " qbuf=", call.part<Inputs>().UnreadBytes(session),
           " qbuf-free=", session.pending.capacity() - session.pending.size(),
           " argv-mem=", argument_bytes, " multi-mem=", queued_bytes,
           " rbs=", session.output.memory(), " rbp=", session.output.memory(),
           " obl=", session.output.bytes(),
           " oll=", (output_memory + kBlockBytes - 1) / kBlockBytes, " omem=", output_memory,
           " tot-mem=", session.MemoryBytes() + argument_bytes);
  const std::string_view command =
      session.last_command ? std::string_view(*session.last_command) : "NULL";
  ConcatTo(text, " events=", session.output.empty() ? "r" : "rw", " cmd=", command,
           " user=default redir=", RedirectionOf(session), " resp=", session.resp(),
           " lib-name=", session.library_name, " lib-ver=", session.library_version, '\n');
}

// Killed clients are gone, although they leave only when the turn ends.
bool IsThere(const Session& session) { return session.close != CloseMode::kNow; }

// Redis takes TYPE only with one value behind it; ID takes all that is left.
struct ListOptions {
  bool one_value;  // one argument follows the option's word
  ClientFilter filter;
  std::optional<std::vector<uint64_t>> ids;
};

// CLIENT LIST [TYPE type] [ID id ...].
constexpr OptionRow<ListOptions> kListOptions[] = {
    {"ID",
     [](ArgReader& args, ListOptions& to) {
       to.ids.emplace();
       while (args.more()) {
         const std::optional<int64_t> id = ParseInt64(args.Bytes());
         if (!id) return args.Fail("ERR Invalid client ID");
         to.ids->push_back(static_cast<uint64_t>(*id));
       }
     },
     1},
    {"TYPE",
     [](ArgReader& args, ListOptions& to) {
       const std::string_view word = args.Bytes();
       to.filter.type = ReadClientType(word);
       if (!to.filter.type) args.Fail(Concat("ERR Unknown client type '", word, "'"));
     },
     1, [](const ListOptions& options) { return options.one_value; }},
};

// As they were asked for.
std::vector<const Session*> FindByIds(CommandCall& call, const std::vector<uint64_t>& ids) {
  std::vector<const Session*> found;
  for (const uint64_t id : ids) {
    const Session* const session = call.part<Clients>().FindClient(id);
    if (session && IsThere(*session)) found.push_back(session);
  }
  return found;
}

// In the order of their ids.
std::vector<const Session*> FindMatching(CommandCall& call, const ClientFilter& filter) {
  std::vector<const Session*> found;
  call.part<Clients>().ForEach([&](Session& session) {
    if (IsThere(session) && filter.Matches(session, call.now.ms())) found.push_back(&session);
  });
  std::sort(found.begin(), found.end(),
            [](const Session* a, const Session* b) { return a->client_id < b->client_id; });
  return found;
}

}  // namespace

// Its own line alone.
void ClientInfo(CommandCall& call) {
  std::string text;
  AddLine(text, call, call.client);
  call.reply.Verbatim(text, "txt");
}

// O(clients), in one piece. ID with unknown ids leaves them out.
//   CLIENT LIST ID 999999     → ""
//   CLIENT LIST ID x          → -ERR Invalid client ID
//   CLIENT LIST TYPE nothing  → -ERR Unknown client type 'nothing'
void ClientList(CommandCall& call) {
  ArgReader args(call.args, 2);
  ListOptions options{.one_value = args.left() == 2};
  ReadOptions(args, kListOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  std::string text;
  for (const Session* const session :
       options.ids ? FindByIds(call, *options.ids) : FindMatching(call, options.filter)) {
    AddLine(text, call, *session);
  }
  call.reply.Verbatim(text, "txt");
}

}  // namespace sluice
