// LinkOpener: opens connections to other servers. Whoever makes the server adds it
// (server/net/links implements it); a server without one answers Host::OpenLink with a fault. It
// works with what the server has: its poller, its alarms; on its thread, a bounded piece between
// two turns.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "server/clients/link_listener.h"
#include "server/net/connection.h"
#include "server/net/loop/alarms.h"
#include "server/net/loop/poller.h"

namespace sluice {

class LinkOpener {
 public:
  // The parts that it works with; all of them outlive it, and it outlives the connections.
  struct Uses {
    Poller& poller;
    Alarms& alarms;
    std::function<boost::intrusive_ptr<Connection>(int descriptor)> connect;  // one of the server's
    std::function<void()> want_advance;  // there is something to go on with
  };
  using Make = std::function<std::unique_ptr<LinkOpener>(const Uses& uses)>;

  // One of the two is called, once, and not from within Open.
  struct Outcome {
    std::function<void(boost::intrusive_ptr<Connection> connection, Peer peer)> opened;
    std::function<void(std::string_view why)> failed;
  };

  virtual ~LinkOpener() = default;
  // `listener` stands for what is opened: it has one at a time.
  virtual void Open(const LinkTarget& target, const LinkListener& listener, Outcome outcome) = 0;
  // No outcome is called any more.
  virtual void GiveUp(const LinkListener& listener) = 0;
  // Goes on with those that can. True: there is more. Not inside a command, as outcomes are called.
  virtual bool Advance() = 0;
  // Gives all up.
  virtual void Close() = 0;
};

}  // namespace sluice
