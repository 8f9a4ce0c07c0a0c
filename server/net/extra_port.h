// ExtraPort: a port of another protocol, which whoever makes the server adds to it (HTTP's pages).
// It works with what the server has: its poller, its alarms, its handshakes; on its thread, a
// bounded piece between two turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/net/connection.h"
#include "server/net/log.h"
#include "server/net/loop/alarms.h"
#include "server/net/loop/poller.h"
#include "server/net/manager/inherited_sockets.h"
#include "server/net/tls_door.h"
#include "storage/time/clock.h"

namespace sluice {

class ExtraPort {
 public:
  // The parts that it works with; all of them outlive the port.
  struct Uses {
    const Config& config;
    Clock& clock;
    Log& log;
    Poller& poller;
    Alarms& alarms;
    TlsDoor& tls;
    std::function<Engine&()> engine;     // the one that there is now
    std::function<void()> want_advance;  // there is something to do; a turn follows
  };
  using Make = std::function<std::unique_ptr<ExtraPort>(const Uses& uses)>;

  virtual ~ExtraPort() = default;
  // Listens: on sockets that were handed over, or as the options say. A sentence, or empty.
  virtual Fault Open(const std::vector<InheritedSocket>& inherited) = 0;
  virtual void Close() = 0;
  // All that it listens on, named so that Open of another process takes it.
  virtual std::vector<InheritedSocket> Sockets() const = 0;
  // A piece of work: who has come, and what they ask. True: there is more.
  virtual bool Advance() = 0;
  // The handshake of one of its connections is through.
  virtual void Secured(Connection& connection) = 0;
};

}  // namespace sluice
