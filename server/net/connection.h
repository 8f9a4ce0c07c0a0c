// Connection: a client's socket beside its engine Session. Readiness is reported to its owner;
// reading and writing happen once a turn, so that a turn's system calls are counted and batched.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/engine/session.h"
#include "server/net/readiness.h"

namespace sluice {

class Connection;

// Who serves connections.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // From inside the reactor: only to be noted.
  virtual void Readable(Connection& connection) = 0;
  virtual void Writable(Connection& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection>, private ReadinessWatcher {
 public:
  // Owns the non-blocking socket `descriptor`.
  Connection(boost::asio::io_context& io, int descriptor, ConnectionOwner& owner);
  ~Connection() override;

  SessionId session;
  bool ready = false;  // in its owner's list of those to be read
  bool awaits_second_look = false;
  int64_t read_ms = 0;  // engine time of the last read

  bool open() const { return descriptor_ >= 0; }
  // One recv. Bytes read; 0: nothing there now; -1: the peer has closed or the connection broke.
  ssize_t Read(std::span<char> into);
  // One send of what `output` holds. False: the connection broke.
  bool Write(OutputBuffer& output);
  void AwaitWritable() { readiness_.AwaitWritable(); }
  void Close();

 private:
  void Readable() override { owner_.Readable(*this); }
  void Writable() override;

  int descriptor_;
  ConnectionOwner& owner_;
  Readiness readiness_;
};

}  // namespace sluice
