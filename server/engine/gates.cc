#include "server/engine/gates.h"

#include "server/engine/engine.h"

namespace sluice {
namespace {

constexpr std::string_view kDebugRefused =
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can "
    "run it from a local connection, otherwise you need to set this option in the configuration "
    "file, and then restart the server.";

std::string_view Protected(Engine& engine, Session& session, const Command& command) {
  if (!(command.spec->flags & kProtected)) return {};
  const std::string& rule = engine.settings().enable_debug_command;
  if (rule == "yes" || (rule == "local" && session.peer.loopback)) return {};
  return kDebugRefused;
}

std::string_view LoggedIn(Engine&, Session& session, const Command& command) {
  if (!(session.conditions & kNeedsLogin) || (command.spec->flags & kNoAuth)) return {};
  return ErrorText(ErrorCode::kNoAuth);
}

std::string_view OutsideMulti(Engine&, Session& session, const Command& command) {
  if (!session.in_multi() || !(command.spec->flags & kNoMulti)) return {};
  return "ERR Command not allowed inside a transaction";
}

// A script past its time is running, and this is served from inside it.
std::string_view NotBusy(Engine& engine, Session&, const Command& command) {
  if (!engine.scripts().busy() || (command.spec->flags & kAllowBusy)) return {};
  return engine.scripts().BusyText();
}

using Gate = std::string_view (*)(Engine&, Session&, const Command&);

// In this order: who asks an unknown server first learns that it must log in.
constexpr Gate kGates[] = {Protected, LoggedIn, OutsideMulti, NotBusy};

}  // namespace

std::string_view AskGates(Engine& engine, Session& session, const Command& command) {
  for (const Gate gate : kGates) {
    if (const std::string_view refusal = gate(engine, session, command); !refusal.empty()) {
      return refusal;
    }
  }
  return {};
}

}  // namespace sluice
