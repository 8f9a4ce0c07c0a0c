// SpaceConnection: a socket whose client is one of a space.
#pragma once

#include "server/net/connection.h"
#include "server/spaces/space.h"

namespace sluice {

class SpaceConnection final : public Connection, public ClientConnection {
 public:
  using Connection::Connection;

  bool ready = false;  // in ReadyClients

  // --- ClientConnection
  bool open() const override { return Connection::open(); }
  bool Write(OutputBuffer& output) override { return Connection::Write(output); }
  void AwaitWritable() override { Connection::AwaitWritable(); }
  void ForgetOutput() override { Connection::ForgetOutput(); }
  void WatchPeer(int64_t timeout_ms) override { Connection::WatchPeer(timeout_ms); }
  void KeepAlive(int64_t seconds) override { Connection::KeepAlive(seconds); }
  void Close() override { Connection::Close(); }
  size_t bytes() const override { return sizeof *this; }
};

}  // namespace sluice
