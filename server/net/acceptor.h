// Acceptor: the addresses that are listened on, and who is let in from there: not more clients
// than maxclients, and no strangers while there is no password (protected mode).
//
// A full server refuses first, then protected mode does; each refusal is counted in
// rejected_connections.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/net/listener.h"
#include "server/net/log.h"
#include "server/net/poller.h"
#include "server/net/space.h"

namespace sluice {

class Acceptor {
 public:
  // `admit` takes a newcomer's descriptor.
  // `clients`: how many there are in all. `files_for`: sees to it, as far as may be, that so many
  // files can be open; how many it is.
  Acceptor(Config& config, Space& space, Log& log, Poller& poller, std::function<size_t()> clients,
           Listener::Accepted admit, std::function<int64_t(int64_t)> files_for);

  // Sees to it that there can be so many clients, and listens; an error sentence, or empty. From
  // then on changes of `maxclients`, `port` and `bind` are followed.
  std::string Open();
  void Close();
  // Where a client on this machine can connect: "127.0.0.1:6379", "[::1]:6379", "unix:/path".
  std::string Address() const;
  bool IsFull() const;
  // A socket for another space: on a free port of the loopback address, watched beside the others.
  // Whoever comes there is let in under the same terms.
  std::unique_ptr<Listener> ListenAside(Listener::Accepted admit, std::string& fault);
  // Lets in, or refuses, those of whom the poller has told; whether there may be more.
  bool AcceptNewcomers();

 private:
  void FitMaxClients();
  void FollowOptions();
  std::string ListenUnix();
  std::string ListenTcp();
  std::string ListenOnEach(int port, bool& is_taken);
  std::unique_ptr<Listener> MakeListener();
  int Backlog() const;
  void Accept(int descriptor, Peer peer, const Listener::Accepted& admit);
  void Refuse(int descriptor, std::string_view sentence);
  void SetTcpOptions(int descriptor) const;

  Config& config_;
  Space& space_;
  Log& log_;
  Poller& poller_;
  std::function<size_t()> clients_;
  Listener::Accepted admit_;
  std::function<int64_t(int64_t)> files_for_;
  std::vector<std::unique_ptr<Listener>> tcp_listeners_;
  std::unique_ptr<Listener> unix_listener_;
};

}  // namespace sluice
