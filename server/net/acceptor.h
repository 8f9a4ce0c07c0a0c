// Acceptor: the addresses that are listened on, and who is let in from there: not more clients
// than maxclients, of one address not more than maxclients-per-ip, and no strangers while there is
// no password (protected mode).
//
// A full server refuses first, then one that has enough of that address, then protected mode does;
// each refusal is counted in rejected_connections.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/net/listener.h"
#include "server/net/log.h"
#include "server/net/loop/poller.h"
#include "server/net/manager/inherited_sockets.h"
#include "server/net/sources.h"
#include "server/net/tls_door.h"
#include "server/observe/statistics.h"
#include "server/spaces/space.h"

namespace sluice {

class Acceptor final : private OptionFollower {
 public:
  // The takers of a new connection's descriptor.
  struct Admit {
    Listener::Accepted plain;
    Listener::Accepted tls;  // who begins a handshake
  };
  // `clients`: how many there are in all. `tls` is loaded before any client is let in there.
  // `files_for`: sees to it, as far as may be, that so many files can be open; how many it is.
  Acceptor(Config& config, Space& space, Log& log, Poller& poller, const Sources& sources,
           TlsDoor& tls, std::function<size_t()> clients, Admit admit,
           std::function<int64_t(int64_t)> files_for);
  ~Acceptor() { config_.Unfollow(*this); }

  // Sees to it that there can be so many clients, and listens; an error sentence, or empty. From
  // then on changes of `maxclients`, `port`, `tls-port` and `bind` are followed. `inherited` stand
  // in place of `bind` and `port`, or of those and `tls-port`.
  Fault Open(const std::vector<InheritedSocket>& inherited);
  void Close();
  // All that it listens on, named so that Open of another process knows what each is for.
  std::vector<InheritedSocket> Sockets() const;
  // Another process listens on them: paths stay when this one closes.
  void GiveAway();
  // Where a client on this machine can connect: "127.0.0.1:6379", "[::1]:6379", "unix:/path".
  std::string Address() const;
  std::string UnixPath() const;  // of the Unix socket; empty: there is none
  bool IsFull() const;
  // Why that client may not talk to this server (protected mode), as an error; empty: it may.
  std::string_view RefusalOf(const Peer& peer) const;
  void CountRefusal() { ++space_.engine().statistics().rejected_connections; }
  // A socket for another space: on a free port of the loopback address, watched beside the others.
  // Whoever comes there is let in under the same terms.
  std::unique_ptr<Listener> ListenForSpace(Listener::Accepted admit, std::string& fault);
  // Lets in, or refuses, those of whom the poller has told; whether there may be more.
  bool AcceptConnections();
  // There are such, or may be.
  bool anybody_waits() const {
    const auto waits = [](const auto& listener) { return listener->has_waiting(); };
    return (unix_listener_ && unix_listener_->has_waiting()) ||
           std::ranges::any_of(tcp_listeners_, waits) || std::ranges::any_of(tls_listeners_, waits);
  }

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override;
  void FitMaxClients();
  Fault CheckFiles() const;
  Fault ListenUnix();
  Fault Adopt(const InheritedSocket& socket);
  using Listeners = std::vector<std::unique_ptr<Listener>>;

  Fault ListenTcp();
  Fault ListenTls();
  Fault ListenOnEach(int port, const Listener::Accepted& accepted, Listeners& listeners,
                     bool& is_taken);
  int Backlog() const;
  Listener::Accepted Accepting(Listener::Accepted admit);
  bool MakeRoom();
  bool HasEnoughOf(int descriptor) const;
  void Accept(int descriptor, Peer peer, const Listener::Accepted& admit);
  void AcceptTls(int descriptor, Peer peer);
  void Refuse(int descriptor, std::string_view sentence);
  void SetTcpOptions(int descriptor) const;

  Config& config_;
  Space& space_;
  Log& log_;
  Poller& poller_;
  const Sources& sources_;
  TlsDoor& tls_;
  std::function<size_t()> clients_;
  Admit admit_;
  std::function<int64_t(int64_t)> files_for_;
  Listeners tcp_listeners_;
  Listeners tls_listeners_;
  std::unique_ptr<Listener> unix_listener_;
};

}  // namespace sluice
