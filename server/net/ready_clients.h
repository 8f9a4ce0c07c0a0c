// ReadyClients: those whose sockets have something to read, and the reading of them: one recv a
// client into the turn's buffer, until that is full.
//
// A turn reads 128 KiB in all and 16 KiB of a client, and takes leave of 100 closed connections.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/net/space_connection.h"
#include "server/spaces/space.h"
#include "server/spaces/space_table.h"

namespace sluice {

class ReadyClients {
 public:
  ReadyClients();

  // The private spaces of a test double, which are told what there is to do in them.
  void set_spaces(SpaceTable* spaces) { spaces_ = spaces; }
  // Asked of who sends what a TLS handshake begins with, which can be no request. True: it has come
  // to a port without TLS, and is dropped.
  void set_is_lost(std::function<bool(SpaceConnection&)> is_lost) { is_lost_ = std::move(is_lost); }
  // Once until it is read.
  void Add(SpaceConnection& connection);
  bool empty() const { return ready_.empty(); }
  // One recv for every ready client, until the turn's buffer is full; the others wait for the next
  // turn. So does a client with requests that have not run yet: it is the kernel that keeps what it
  // sends then, and that it will send no more is not seen before all it has sent is answered. Nor
  // is the client read whose command polls. A client that could not be read comes first in the next
  // turn, before those that have more: however much a few clients send, all others are read in
  // their turn. `depth`: inside so many other turns, whose buffers are in use.
  void Read(size_t depth);

 private:
  bool ReadOne(SpaceConnection& connection, Session& session, std::span<char> buffer, size_t& got);

  SpaceTable* spaces_ = nullptr;
  std::function<bool(SpaceConnection&)> is_lost_;
  using Connections = std::vector<boost::intrusive_ptr<SpaceConnection>>;

  Connections ready_;    // to be read in the next turn
  Connections reading_;  // only inside Read, as the next one: a turn makes no vector anew
  Connections have_more_;
  std::vector<std::unique_ptr<char[]>> buffers_;  // by depth
};

}  // namespace sluice
