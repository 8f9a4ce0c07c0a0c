// SpaceTable: the private spaces of a test double (server/test_double/spaces.h). Each is a Space,
// an engine with its connections, with configuration, clock and files of its own; the first space
// is the server's.
//
// A space costs nothing while it has no client: no timer is set for it and no loop looks at it. Its
// time goes on all the same, and what is due by then happens as soon as a client comes. One with
// clients has a place among those that are due, or in an ordered set of moments (wakes_). Its
// engine is made for its first client, and goes with the last one if that is all that has happened
// there: a space to which clients have only come is as it was made.
//
// Clients change spaces, and spaces are reset, only between two turns: a handler notes what is
// wanted and blocks its client; Arrange does it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/fault.h"
#include "server/spaces/migrating_client.h"
#include "server/spaces/space.h"
#include "server/test_double/ram_disk.h"
#include "server/test_double/spaces.h"
#include "storage/time/movable_clock.h"

namespace sluice {

// A port of one space's own.
class SpacePort {
 public:
  using Admit = std::function<void(boost::intrusive_ptr<ClientConnection> connection, Peer peer)>;
  virtual ~SpacePort() = default;
  virtual int number() const = 0;
  // Admits the clients that have come since; whether there may be more.
  virtual bool AcceptConnections() = 0;
};

class SpaceTable {
 public:
  struct Uses {
    SpaceOwner& owner;
    Config& config;  // as the server was started
    Clock& clock;    // the system's
    const CommandTable& commands;
    const EngineOptions& options;  // of the server's engine
    Space& first;
    MovableClock& first_clock;
    // Opens a port of the loopback address that calls back for each new connection; null, with a
    // fault.
    std::function<std::unique_ptr<SpacePort>(SpacePort::Admit, std::string& fault)> listen;
  };
  explicit SpaceTable(const Uses& uses);
  ~SpaceTable();

  // The engine of the first space gets this.
  Spaces& ViewOfFirst();

  // --- turns
  // There is something to do in that space; nothing happens for the first one.
  void Due(Space& space);
  // Runs a turn in each space that is due. Their connections may have been lost since.
  void RunTurns();
  // Newcomers of the spaces' own ports.
  bool AcceptConnections();
  // Between two turns: moves clients, resets spaces, drops what was given up. Something may be due
  // then. True: a client of the first space may have moved. `nested`: inside the turn of a space
  // whose script is slow; such a space is not reset, and none is dropped.
  bool Arrange(bool nested);
  bool any_due() const { return !due_.empty() || !wants_.empty(); }
  // µs of the system's clock: when a space has work next; TimerWheel::kNever.
  int64_t NextWakeUs() const;
  void WakeUntil(int64_t now_us);
  void Housekeep();
  size_t clients() const;  // of all private spaces
  // A private space ends by a command of its own.
  void End(Space& space);

 private:
  struct View;
  struct PrivateSpace;
  // A handler's wish for the time between two turns.
  struct Want {
    Space* from;
    SessionId session;
    std::string to;       // a space's name; empty: `from` is to be reset
    std::string request;  // which the client sends there anew
  };

  Fault Enter(View& view, CommandCall& call, std::string_view name);
  Fault Reset(View& view, CommandCall& call);
  std::vector<Spaces::Info> List();
  bool Delete(std::string_view name);
  Fault Copy(std::string_view from, std::string_view to);
  int Listen(std::string_view name, std::string& fault);

  PrivateSpace* Find(std::string_view name) const;
  PrivateSpace& FindOrMake(std::string_view name);
  // With an engine; null where there is no such space.
  Space* FindSpace(std::string_view name);
  PrivateSpace* PrivateOf(const Space& space);
  void MakeEngine(PrivateSpace& space);
  void NeedEngine(PrivateSpace& space);
  EngineOptions OptionsOf(PrivateSpace& space) const;
  bool Move(const Want& want);
  void ResetSpace(Space& space, SessionId caller);
  void Enter(Space& space, MigratingClient client);
  void Wake(PrivateSpace& space);
  void Sleep(PrivateSpace& space);
  bool IsBusy(const Space& space) const;

  const Uses on_;
  Background at_once_;  // of private spaces, whose files are in memory
  std::unique_ptr<View> first_view_;
  std::map<std::string, std::unique_ptr<PrivateSpace>, std::less<>> spaces_;
  std::vector<std::unique_ptr<PrivateSpace>> given_up_;
  std::deque<PrivateSpace*> due_;
  std::set<std::pair<int64_t, PrivateSpace*>> wakes_;
  std::set<PrivateSpace*> occupied_;   // with clients
  std::set<PrivateSpace*> listening_;  // on a port of their own
  std::vector<Want> wants_;
};

}  // namespace sluice
