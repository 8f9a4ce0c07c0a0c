// CLIENT LIST and CLIENT INFO: one line a client (server/engine/client_lines.h).

#include <algorithm>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/commands/clients/client_commands.h"
#include "server/commands/clients/client_filter.h"
#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"
#include "server/engine/client_lines.h"

namespace sluice {
namespace {

// Killed clients are gone, although they leave only when the turn ends.
bool IsThere(const Session& session) { return session.close != CloseMode::kNow; }

// Redis takes TYPE only with one value behind it; ID takes all that is left.
struct ListOptions {
  bool one_value;  // one argument follows the option's word
  ClientFilter filter;
  std::optional<std::vector<uint64_t>> ids;
};

// CLIENT LIST [TYPE type] [ID id ...].
constexpr OptionRow<ListOptions> kClientListOptions[] = {
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
  const std::string line = call.part<ClientLines>().Describe(call.client, call.args);
  call.reply.Verbatim(Concat(line, '\n'), "txt");
}

// O(clients), in one piece. ID with unknown ids leaves them out.
//   CLIENT LIST ID 999999     → ""
//   CLIENT LIST ID x          → -ERR Invalid client ID
//   CLIENT LIST TYPE nothing  → -ERR Unknown client type 'nothing'
void ClientList(CommandCall& call) {
  ArgReader args(call.args, 2);
  ListOptions options{.one_value = args.left() == 2};
  ReadOptions(args, kClientListOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  std::string text;
  for (const Session* const session :
       options.ids ? FindByIds(call, *options.ids) : FindMatching(call, options.filter)) {
    const Args running = session == &call.client ? call.args : Args();
    ConcatTo(text, call.part<ClientLines>().Describe(*session, running), '\n');
  }
  call.reply.Verbatim(text, "txt");
}

}  // namespace sluice
