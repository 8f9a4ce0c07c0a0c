// Links: the connections that this server opens to others. A LinkListener asks for one; the host
// looks up the name, connects and secures, and a link that stands is a session of kind kMasterLink.
// Its bytes are no requests at first (`Session::is_raw`): the listener is given them as they come,
// a turn at a time, until it hands over to the parser.
//
//   if (Fault fault = links.Open(target, *this)) ...   // this host opens none
//   LinkOpened(session)              clients.Push(session, {"PING\r\n"})
//   LinkReceived(session, "+PONG\r\n")  → 7
//   links.Parse(session)             what follows are commands
//
// Bounds: a listener leaves one read of the host's at most (16 KB with sockets); the peer's next
// bytes wait in the kernel. There are as many links as listeners, and the server has few: all is
// O(links).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/clients/link_listener.h"
#include "server/clients/session.h"
#include "server/config/settings.h"

namespace sluice {

// A server as options say that others are reached: over TLS or not, from which address.
LinkTarget LinkTargetOf(const Settings& settings, std::string host, int port, int64_t timeout_ms);

class Links {
 public:
  Links(Host& host, Clients& clients) : host_(host), clients_(clients) {}

  // --- for listeners
  // Begins to open one; LinkOpened or LinkFailed follows later. A sentence: nothing follows.
  // Requires: the listener has none.
  Fault Open(const LinkTarget& target, LinkListener& listener);
  // Gives its link up, open or not, if it has one. It hears no more of it.
  void Close(LinkListener& listener);
  // Bytes that the listener has left are shown again in the next turn.
  void ReadOn(Session& session);
  // The bytes that were left, and those to come, are requests.
  void Parse(Session& session);

  // --- for the engine
  void Opened(Session& session, LinkListener& listener);
  void Failed(LinkListener& listener, std::string_view why);
  // Shows the listener of a raw session what has come.
  void Give(Session& session);
  // It ends.
  void Forget(Session& session);
  // Between turns: what is wrong, or empty.
  std::string Audit() const;

 private:
  struct Link {
    LinkListener* listener;
    std::optional<SessionId> session;  // none: it is being opened
  };

  std::vector<Link>::iterator Find(const LinkListener& listener);
  std::vector<Link>::iterator Find(const Session& session);
  void StallEnds(Session& session);

  Host& host_;
  Clients& clients_;
  std::vector<Link> links_;
};

}  // namespace sluice
