// Acceptor: the addresses that are listened on, and who is let in from there: not more clients
// than maxclients, and no strangers while there is no password (protected mode).
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/net/listener.h"
#include "server/net/log.h"

namespace sluice {

class Acceptor {
 public:
  // `admit` takes a newcomer's descriptor.
  Acceptor(Config& config, Engine& engine, Log& log, boost::asio::io_context& io,
           Listener::Accepted admit);

  // Sees to it that there can be so many clients, and listens; an error sentence, or empty. From
  // then on changes of `maxclients`, `port` and `bind` are followed.
  std::string Open();
  void Close();
  bool IsFull() const;

 private:
  void FitMaxClients();
  void FollowOptions();
  std::string ListenUnix();
  std::string ListenTcp();
  std::unique_ptr<Listener> MakeListener();
  int Backlog() const;
  void Accept(int descriptor, Peer peer);
  void Refuse(int descriptor, std::string_view sentence);
  void SetTcpOptions(int descriptor) const;

  Config& config_;
  Engine& engine_;
  Log& log_;
  boost::asio::io_context& io_;
  Listener::Accepted admit_;
  std::vector<std::unique_ptr<Listener>> tcp_listeners_;
  std::unique_ptr<Listener> unix_listener_;
};

}  // namespace sluice
