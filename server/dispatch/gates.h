// Gates: what may keep a known, well-formed command from running. Each is a small named function;
// their order, which is Redis's and visible in its error texts, stands in one array in gates.cc. A
// session with no condition on a server with none skips them all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/clients/session.h"
#include "server/config/config.h"
#include "server/config/follow_state.h"
#include "server/core/parts.h"
#include "server/dispatch/access_gate.h"
#include "server/dispatch/command.h"
#include "server/dispatch/log_state.h"
#include "server/dispatch/script_state.h"
#include "server/dispatch/slot_gate.h"

namespace sluice {

// The answer to a client that sends what only a log may say.
inline constexpr std::string_view kOnlyReplayedText =
    "ERR only a log that is replayed may say this, not a client";

class Gates {
 public:
  Gates(const Parts& parts, const Settings& settings, const ScriptState& script,
        const LogState& log, const FollowState& follows, AccessGate& access, SlotGate& slots)
      : parts_(parts),
        settings_(settings),
        script_(script),
        log_(log),
        follows_(follows),
        access_(access),
        slots_(slots) {}

  // The sentence why the client may not run it now, or empty; the first refusal counts. O(gates),
  // and each is a test of a few bits.
  std::string Ask(const Session& session, const Request& request) const;
  // The same in two parts, between which Redis asks for memory: who asks for what, and what the
  // server allows.
  std::string AskOfClient(const Session& session, const Request& request) const;
  std::string AskOfServer(const Session& session, const Request& request) const;

  // A script declares by its shebang line whether it writes, so its flags depend on the request.
  uint32_t FlagsOf(const Request& request) const;

 private:
  using Gate = std::string (Gates::*)(const Session&, const Request&) const;
  static const Gate kOfClient[];
  static const Gate kOfServer[];

  std::string AskAll(std::span<const Gate> gates, const Session& session,
                     const Request& request) const;

  std::string Protected(const Session& session, const Request& request) const;
  std::string LoggedIn(const Session& session, const Request& request) const;
  std::string Replays(const Session& session, const Request& request) const;
  std::string OutsideMulti(const Session& session, const Request& request) const;
  std::string Allowed(const Session& session, const Request& request) const;
  std::string HasKeys(const Session& session, const Request& request) const;
  std::string MayWrite(const Session& session, const Request& request) const;
  std::string HasReplicas(const Session& session, const Request& request) const;
  std::string IsMaster(const Session& session, const Request& request) const;
  std::string MayHear(const Session& session, const Request& request) const;
  std::string NotStale(const Session& session, const Request& request) const;
  std::string Loaded(const Session& session, const Request& request) const;
  std::string NotBusy(const Session& session, const Request& request) const;
  std::string TouchesNoKeys(const Session& session, const Request& request) const;

  const Parts& parts_;
  const Settings& settings_;
  const ScriptState& script_;
  const LogState& log_;
  const FollowState& follows_;
  AccessGate& access_;
  SlotGate& slots_;
};

}  // namespace sluice
