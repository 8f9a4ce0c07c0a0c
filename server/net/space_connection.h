// SpaceConnection: a socket whose client is one of a space.
#pragma once

#include "server/net/connection.h"
#include "server/spaces/space.h"

namespace sluice {

// Connection comes last: what stands here then lies where its own last word has room.
class SpaceConnection final : public ClientConnection, public Connection {
 public:
  using Connection::Connection;

  bool ready = false;  // in ReadyClients

  // --- ClientConnection
  void AddReference() override { Connection::AddReference(); }
  void DropReference() override { Connection::DropReference(); }
  bool open() const override { return Connection::open(); }
  bool Write(OutputBuffer& output) override { return Connection::Write(output); }
  void AwaitWritable() override { Connection::AwaitWritable(); }
  void ForgetOutput() override { Connection::ForgetOutput(); }
  void WatchPeer(int64_t timeout_ms) override { Connection::WatchPeer(timeout_ms); }
  void KeepAlive(int64_t seconds) override { Connection::KeepAlive(seconds); }
  void GatherPackets() override { Connection::GatherPackets(); }
  void ReadOn() override { owner().Readable(*this); }
  void Close() override { Connection::Close(); }
  size_t bytes() const override { return sizeof *this; }
};
static_assert(sizeof(SpaceConnection) <= 64);

// It is both.
inline void intrusive_ptr_add_ref(SpaceConnection* connection) { connection->AddReference(); }
inline void intrusive_ptr_release(SpaceConnection* connection) { connection->DropReference(); }

}  // namespace sluice
