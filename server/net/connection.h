// Connection: a client's socket beside its engine Session. It waits for readiness through Asio and
// reads and writes by itself, once a turn, so that a turn's system calls are counted and batched.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <span>

#include "server/engine/session.h"

namespace sluice {

class Connection;

// Who serves connections; called from Asio's handlers.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  virtual void Readable(const std::shared_ptr<Connection>& connection) = 0;
  virtual void Writable(const std::shared_ptr<Connection>& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  Connection(Socket socket, ConnectionOwner& owner) : socket_(std::move(socket)), owner_(owner) {}

  SessionId session;

  bool open() const { return socket_.is_open(); }
  // One recv. Bytes read; 0: nothing there now; -1: the peer has closed or the connection broke.
  ssize_t Read(std::span<char> into);
  // One send of what `output` holds. False: the connection broke.
  bool Write(OutputBuffer& output);
  void WaitReadable();
  void WaitWritable();
  void Close();

 private:
  Socket socket_;
  ConnectionOwner& owner_;
  bool waiting_to_read_ = false;
  bool waiting_to_write_ = false;
};

}  // namespace sluice
