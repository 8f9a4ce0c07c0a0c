// AccessGate: whether a session's user may run a request, and the record of it where he may not.
// The dispatcher, EXEC, scripts, FENCED and ACL DRYRUN all ask here; which keys a request has is
// told by the same extractor that COMMAND GETKEYS shows (FindKeys).
//
// Only sessions with kRestricted are asked about: a user who may do everything costs nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/access/access_log.h"
#include "server/access/user.h"
#include "server/clients/session.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/script_state.h"

namespace sluice {

// Makes a client's line of CLIENT LIST, which is in every entry of the log.
class ClientDescriber {
 public:
  virtual ~ClientDescriber() = default;
  // While the command with these arguments runs; of another client that waits: its own.
  virtual std::string Describe(const Session& session, Args running) const = 0;
};

class AccessGate {
 public:
  AccessGate(const CommandTable& commands, AccessLog& log, const TurnClock& clock,
             const ScriptState& script, const ClientDescriber& describer)
      : commands_(commands), log_(log), clock_(clock), script_(script), describer_(describer) {}

  // Asks the user's rules, about the command inside (FENCED) as well; records nothing.
  Verdict Check(const User& user, const Request& request);
  // The same for the command alone, whatever words come with it: words that are no request have no
  // keys.
  Verdict CheckCommand(const User& user, const Command& command, Args words) const;
  // Allowed, or recorded in the log.
  Verdict CheckAndRecord(const Session& session, const Request& request);
  // Whether the rules that allow the request allow any key to be read, as BY and GET of SORT do.
  bool MayReadAnyKey(const Session& session, const Request& request);
  // Whether the user may run such a command, whatever key it is about.
  bool AllowsOnEveryKey(const User& user, const Command& command) const;
  // The error text that a client gets for it.
  std::string TextOf(const Verdict& verdict) const;
  // A login that was refused.
  void RecordLogin(const Session& session, Args args, std::string_view user);

 private:
  using Keys = absl::FunctionRef<std::span<const AccessedKey>()>;
  static AccessRequest AccessOf(const Request& request, Keys keys);
  std::span<const AccessedKey> KeysOf(const Request& request);
  static AccessedKey SoleKeyOf(const Request& request);
  static bool AllowsPlainly(const User& user, const Request& request);
  void Record(const Session& session, Args args, Denial reason, std::string_view object,
              std::string_view user);

  const CommandTable& commands_;
  AccessLog& log_;
  const TurnClock& clock_;
  const ScriptState& script_;
  const ClientDescriber& describer_;
  // The keys of the request that is looked at; kept for their memory.
  std::vector<KeyUse> uses_;
  std::vector<AccessedKey> keys_;
};

}  // namespace sluice
