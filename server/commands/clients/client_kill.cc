// CLIENT KILL: the old form with one address, and filters that must all match. MAXAGE is 7.4's.

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/access/users.h"
#include "server/clients/clients.h"
#include "server/commands/clients/client_commands.h"
#include "server/commands/clients/client_filter.h"
#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// The new form spares the caller unless SKIPME NO is given; the old form does not.
struct KillRequest {
  ClientFilter filter;
  bool skip_me = true;
  const Users* users = nullptr;  // who there is
};

// Each reads the value of one filter.
void ReadId(ArgReader& args, KillRequest& request) {
  const std::optional<int64_t> id = ParseInt64(args.Bytes());
  if (!id || *id < 1) return args.Fail("ERR client-id should be greater than 0");
  request.filter.id = static_cast<uint64_t>(*id);
}

// The fault names the word as it came.
void ReadType(ArgReader& args, KillRequest& request) {
  const std::string_view word = args.Bytes();
  request.filter.type = ReadClientType(word);
  if (!request.filter.type) args.Fail(Concat("ERR Unknown client type '", word, "'"));
}

void ReadAddress(ArgReader& args, KillRequest& request) { request.filter.address = args.Bytes(); }

void ReadLocalAddress(ArgReader& args, KillRequest& request) {
  request.filter.local_address = args.Bytes();
}

void ReadUser(ArgReader& args, KillRequest& request) {
  const std::string_view name = args.Bytes();
  request.filter.user = request.users->Find(name);
  if (!*request.filter.user) args.Fail(Concat("ERR No such user '", name, "'"));
}

// Any other word is a syntax error.
void ReadSkipMe(ArgReader& args, KillRequest& request) {
  if (args.TakeWord("YES")) {
    request.skip_me = true;
  } else if (args.TakeWord("NO")) {
    request.skip_me = false;
  } else {
    args.Fail(ErrorCode::kSyntax);
  }
}

// Whole seconds, from 1 on.
void ReadMaxAge(ArgReader& args, KillRequest& request) {
  const std::optional<int64_t> seconds = ParseInt64(args.Bytes());
  if (!seconds) return args.Fail("ERR maxage is not an integer or out of range");
  if (*seconds < 1) return args.Fail("ERR maxage should be greater than 0");
  request.filter.age_s_min = *seconds;
}

// In any order; of a filter that comes twice the last one counts.
constexpr OptionRow<KillRequest> kFilters[] = {
    {"ID", ReadId, 1},         {"TYPE", ReadType, 1},
    {"ADDR", ReadAddress, 1},  {"LADDR", ReadLocalAddress, 1},
    {"USER", ReadUser, 1},     {"SKIPME", ReadSkipMe, 1},
    {"MAXAGE", ReadMaxAge, 1},
};

// O(clients). They are closed at once for every other command, and leave at the end of the turn.
int64_t Kill(CommandCall& call, const KillRequest& request) {
  int64_t killed = 0;
  call.part<Clients>().ForEach([&](Session& session) {
    const bool me = &session == &call.client;
    // One that is killed already is counted once.
    if (session.close == CloseMode::kNow || (me && request.skip_me)) return;
    if (!request.filter.Matches(session, call.now.ms())) return;
    // A client that kills itself still gets the answer.
    call.part<Clients>().Close(session, me ? CloseMode::kAfterReply : CloseMode::kNow);
    ++killed;
  });
  return killed;
}

}  // namespace

// The old form has one argument and answers OK or an error; the new one answers how many, 0 too.
//   CLIENT KILL 1.2.3.4:5     → -ERR No such client
//   CLIENT KILL ID 999999     → 0
//   CLIENT KILL ID 0          → -ERR client-id should be greater than 0
//   CLIENT KILL TYPE nothing  → -ERR Unknown client type 'nothing'
//   CLIENT KILL ADDR          → -ERR No such client
void ClientKill(CommandCall& call) {
  KillRequest request{.users = &call.part<Users>()};
  if (call.args.size() == 3) {
    request.filter.address = call.args[2];
    request.skip_me = false;
    if (Kill(call, request) == 0) return call.reply.Error("ERR No such client");
    return call.reply.Ok();
  }
  ArgReader args(call.args, 2);
  ReadOptions(args, kFilters, request);
  if (args.failed()) return call.reply.Error(args.error());
  call.reply.Integer(Kill(call, request));
}

}  // namespace sluice
