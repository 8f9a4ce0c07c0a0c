// AccessControl: users as the server lives with them. Every change of a user goes through here,
// because it acts at once on the connections that are that user's: on their next command, on what
// they wait for, on their subscriptions, on MONITOR. Connections of a user that is gone are closed.
//
// Where users come from at the start, each over the one before: requirepass, the lines of the
// configuration, or the ACL file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/access/access_log.h"
#include "server/access/users.h"
#include "server/clients/clients.h"
#include "server/config/config.h"
#include "server/dispatch/access_gate.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

class AccessControl {
 public:
  // The parts that it works with; all of them outlive it.
  struct Uses {
    Config& config;
    Host& host;
    Users& users;
    AccessLog& log;
    AccessGate& gate;
    Clients& clients;
    BlockedClients& blocked_clients;
    const CommandTable& commands;
    const CurrentClient& current_client;
  };
  explicit AccessControl(const Uses& uses) : on_(uses) {}

  // --- at the start. The sentence why the server cannot start, or empty.
  Fault LoadConfigured();
  Fault LoadFileAtStart();

  // --- changes
  void Set(const User& draft);
  // False: there is none. Requires: not the default user.
  bool Remove(std::string_view name);
  // ACL LOAD and ACL SAVE. The fault as Redis words it, and nothing has changed; or empty. Users
  // that a loaded file does not name are gone, and their connections with them; the connections of
  // the others stay, and have the new rules.
  Fault LoadFile();
  Fault SaveFile();
  // The users' lines for the configuration file; none where users have a file of their own. The
  // sentence why these lines would not give the same users again, or empty.
  Fault LinesForConfig(std::vector<std::string>& lines) const;
  void RequirePassChanged();
  void DefaultChannelsChanged();

  // --- logins
  // False for a wrong name or password, which changes nothing but the log. A name that is not there
  // takes as long as a wrong password.
  bool LogIn(Session& session, Args args, std::string_view user, std::string_view password);
  // By what has proved itself otherwise, as a certificate has. False: there is no such user, or it
  // is off.
  bool LogInProven(Session& session, std::string_view user);
  void LogInInitially(Session& session);

 private:
  void Become(Session& session, const User& user);
  void DefaultChanged();
  void RulesChanged(Session& session);
  std::string WhyNot(const Session& session);
  bool MayHear(const Session& session) const;
  bool MayMonitor(const Session& session);
  void Close(Session& session);
  void CloseThoseOf(const User& gone);

  // The user of connections whose own is gone, for the moments until they are closed.
  const User& Nobody();

  const Uses on_;
  std::unique_ptr<const User> nobody_;  // once it was needed
};

}  // namespace sluice
