// See gates.h. A gate gives its refusal, or an empty text. They are asked only where a session, the
// server or the row of the command has a condition, so none of them is on the way of a plain
// request.
#include "server/dispatch/gates.h"

#include "protocol/error_text.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/dispatch/lack_of_replicas.h"
#include "server/dispatch/transaction.h"

namespace sluice {
namespace {

// `upper`, `lower`: the command whose rows are protected.
std::string NotAllowed(std::string_view upper, std::string_view lower) {
  return Concat("ERR ", upper, " command not allowed. If the enable-", lower,
                "-command option is set to \"local\", you can run it from a local connection, "
                "otherwise you need to set this option in the configuration file, and then restart "
                "the server.");
}

}  // namespace

// DEBUG can stop a server or crash it, so it is off unless the configuration says otherwise, and so
// is MODULE LOAD.
std::string Gates::Protected(const Session& session, const Request& request) const {
  if (!(request.command.spec->flags & kProtected)) return {};
  const bool is_debug = IsSameInAnyCase("debug", request.args[0]);
  const std::string& rule =
      is_debug ? settings_.enable_debug_command : settings_.enable_module_command;
  if (rule == "yes" || (rule == "local" && session.peer.loopback)) return {};
  return is_debug ? NotAllowed("DEBUG", "debug") : NotAllowed("MODULE", "module");
}

// Only AUTH, HELLO, QUIT and RESET come through.
std::string Gates::LoggedIn(const Session& session, const Request& request) const {
  if (!(session.conditions & kNeedsLogin) || (request.command.spec->flags & kNoAuth)) return {};
  return std::string(ErrorText(ErrorCode::kNoAuth));
}

// Effects of our own that name tokens or moments; a client could forge them.
std::string Gates::Replays(const Session& session, const Request& request) const {
  if (session.replays || !(request.command.spec->flags & kOnlyReplayed)) return {};
  return std::string(kOnlyReplayedText);
}

// For commands that would change the connection or end it in the middle of a transaction.
std::string Gates::OutsideMulti(const Session& session, const Request& request) const {
  if (!session.in_multi() || !(request.command.spec->flags & kNoMulti)) return {};
  return "ERR Command not allowed inside a transaction";
}

// Asks the rules of its user. Clients who need to log in first have been sent away by then.
std::string Gates::Allowed(const Session& session, const Request& request) const {
  if (!(session.conditions & kRestricted)) return {};
  const Verdict verdict = access_.CheckAndRecord(session, request);
  return verdict.allowed() ? std::string() : access_.TextOf(verdict);
}

// In a cluster another server may have its keys.
std::string Gates::HasKeys(const Session& session, const Request& request) const {
  return slots_.is_on() ? slots_.Ask(session, request) : std::string();
}

uint32_t Gates::FlagsOf(const Request& request) const {
  const CommandSpec& spec = *request.command.spec;
  return spec.request_flags ? spec.request_flags(parts_, request) : spec.flags;
}

// A change that cannot be written down is not made: neither by a command nor by the EXEC of some.
// PING is refused too, as by Redis.
std::string Gates::MayWrite(const Session& session, const Request& request) const {
  if (!log_.denies_writes()) return {};
  const bool executes = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  const bool writes = (FlagsOf(request) & (kWrite | kTellsHealth)) ||
                      (executes && TransactionOf(session)->writes_keys);
  return writes ? log_.WriteRefusal() : std::string();
}

// So few replicas would have the change that it might be lost with this server.
std::string Gates::HasReplicas(const Session& session, const Request& request) const {
  if (session.replays) return {};
  const bool executes = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  const bool runs_writes =
      (FlagsOf(request) & kWrite) || (executes && TransactionOf(session)->writes_keys);
  return std::string(LackOfReplicas(log_, request, runs_writes));
}

// A client's write to a replica would be lost, and make it differ from its master.
std::string Gates::IsMaster(const Session& session, const Request& request) const {
  if (!follows_.IsReadOnly(settings_) || session.replays) return {};
  const bool executes = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  const bool writes =
      (FlagsOf(request) & kWrite) || (executes && TransactionOf(session)->writes_keys);
  return writes ? std::string(kReadOnlyText) : std::string();
}

// A replica's data may be old, once it does not hear of its master; or it has none.
std::string Gates::NotStale(const Session& session, const Request& request) const {
  if (!follows_.IsStale(settings_)) return {};
  const bool executes = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  const bool may_run =
      executes ? TransactionOf(session)->may_run_while_stale : (FlagsOf(request) & kStale) != 0;
  return may_run ? std::string() : std::string(follows_.StaleText());
}

// A RESP2 subscriber's connection carries messages, and an answer could not be told from them.
std::string Gates::MayHear(const Session& session, const Request& request) const {
  if (!(session.conditions & kSubscriber) || (request.command.spec->flags & kInSubscriber))
    return {};
  return Concat(
      "ERR Can't execute '", request.command.full_name,
      "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
      "context");
}

// A server that serves may begin to load (DEBUG RELOAD) while a client has commands queued.
std::string Gates::Loaded(const Session& session, const Request& request) const {
  if (!log_.loading) return {};
  const bool executes = session.in_multi() && (request.command.spec->flags & kEndsMulti);
  const bool may_run = executes ? TransactionOf(session)->may_run_while_loading
                                : (request.command.spec->flags & kLoading) != 0;
  if (may_run) return {};
  return "LOADING Redis is loading the dataset in memory";
}

// A script past its time is running, and this is served from inside it.
std::string Gates::NotBusy(const Session&, const Request& request) const {
  if (!script_.busy() || (request.command.spec->flags & kAllowBusy)) return {};
  return std::string(script_.BusyText());
}

// Redis counts who watches all commands among its replicas, which no pause holds back.
std::string Gates::TouchesNoKeys(const Session& session, const Request& request) const {
  if (!(session.conditions & (kMonitor | kReplicates))) return {};
  if (!(request.command.spec->flags & (kReadOnly | kWrite | kMayReplicate))) return {};
  return "ERR Replica can't interact with the keyspace";
}

// In this order: a client that asks an unknown server first learns that it must log in.
const Gates::Gate Gates::kOfClient[] = {&Gates::Protected,    &Gates::LoggedIn, &Gates::Replays,
                                        &Gates::OutsideMulti, &Gates::Allowed,  &Gates::HasKeys};
const Gates::Gate Gates::kOfServer[] = {&Gates::MayWrite, &Gates::HasReplicas,  &Gates::IsMaster,
                                        &Gates::MayHear,  &Gates::NotStale,     &Gates::Loaded,
                                        &Gates::NotBusy,  &Gates::TouchesNoKeys};

std::string Gates::AskAll(std::span<const Gate> gates, const Session& session,
                          const Request& request) const {
  for (const Gate gate : gates) {
    if (std::string refusal = (this->*gate)(session, request); !refusal.empty()) return refusal;
  }
  return {};
}

std::string Gates::AskOfClient(const Session& session, const Request& request) const {
  return AskAll(kOfClient, session, request);
}

std::string Gates::AskOfServer(const Session& session, const Request& request) const {
  return AskAll(kOfServer, session, request);
}

std::string Gates::Ask(const Session& session, const Request& request) const {
  std::string refusal = AskOfClient(session, request);
  return refusal.empty() ? AskOfServer(session, request) : refusal;
}

}  // namespace sluice
