#include "server/engine/gates.h"

#include "protocol/text/concat.h"
#include "server/engine/engine.h"

namespace sluice {
namespace {

constexpr std::string_view kDebugRefused =
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you "
    "can "
    "run it from a local connection, otherwise you need to set this option in the configuration "
    "file, and then restart the server.";

std::string Protected(Engine& engine, Session& session, const Command& command) {
  if (!(command.spec->flags & kProtected)) return {};
  const std::string& rule = engine.settings().enable_debug_command;
  if (rule == "yes" || (rule == "local" && session.peer.loopback)) return {};
  return std::string(kDebugRefused);
}

std::string LoggedIn(Engine&, Session& session, const Command& command) {
  if (!(session.conditions & kNeedsLogin) || (command.spec->flags & kNoAuth)) return {};
  return std::string(ErrorText(ErrorCode::kNoAuth));
}

std::string Replays(Engine&, Session& session, const Command& command) {
  if (session.replays || !(command.spec->flags & kOnlyReplayed)) return {};
  return std::string(kOnlyReplayedText);
}

std::string OutsideMulti(Engine&, Session& session, const Command& command) {
  if (!session.in_multi() || !(command.spec->flags & kNoMulti)) return {};
  return "ERR Command not allowed inside a transaction";
}

std::string MayHear(Engine&, Session& session, const Command& command) {
  if (!(session.conditions & kSubscriber) || (command.spec->flags & kInSubscriber)) return {};
  return Concat(
      "ERR Can't execute '", command.full_name,
      "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
      "context");
}

// A script past its time is running, and this is served from inside it.
std::string NotBusy(Engine& engine, Session&, const Command& command) {
  if (!engine.scripts().busy() || (command.spec->flags & kAllowBusy)) return {};
  return std::string(engine.scripts().BusyText());
}

// Redis counts who watches all commands among its replicas.
std::string TouchesNoKeys(Engine&, Session& session, const Command& command) {
  if (!(session.conditions & kMonitor)) return {};
  if (!(command.spec->flags & (kReadOnly | kWrite | kMayReplicate))) return {};
  return "ERR Replica can't interact with the keyspace";
}

using Gate = std::string (*)(Engine&, Session&, const Command&);

// In this order: who asks an unknown server first learns that it must log in.
constexpr Gate kGates[] = {Protected, LoggedIn, Replays,      OutsideMulti,
                           MayHear,   NotBusy,  TouchesNoKeys};

}  // namespace

std::string AskGates(Engine& engine, Session& session, const Command& command) {
  for (const Gate gate : kGates) {
    if (std::string refusal = gate(engine, session, command); !refusal.empty()) {
      return refusal;
    }
  }
  return {};
}

}  // namespace sluice
