// Listener: one bound socket, TCP or Unix, and the accepting of what comes in on it.
//
// When the process is out of descriptors a spare one is given up for a moment, so that the newcomer
// gets a closed connection instead of hanging in the backlog while the loop spins.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

#include "server/clients/session.h"

namespace sluice {

class Listener {
 public:
  // Called for every accepted, non-blocking descriptor, which the callee owns.
  using Accepted = std::function<void(int descriptor, Peer peer)>;

  Listener(boost::asio::io_context& io, Accepted accepted);
  ~Listener();

  // An error sentence, or empty.
  std::string ListenTcp(const std::string& address, int port, int backlog);
  // Whether that error was that this machine has no such address, or no such protocol.
  bool address_missing() const { return address_missing_; }
  std::string ListenUnix(const std::string& path, int mode, int backlog);
  void Start();
  void Close();

 private:
  std::string Bind(int family, const void* address, unsigned length, int backlog);
  void Wait();
  void AcceptAll();
  bool AcceptOne();

  // Only its readiness is used; accept4 gives non-blocking sockets in one call.
  boost::asio::generic::stream_protocol::socket socket_;
  Accepted accepted_;
  std::string unix_path_;
  int spare_ = -1;
  bool address_missing_ = false;
};

}  // namespace sluice
