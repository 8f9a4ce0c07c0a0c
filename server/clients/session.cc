// See session.h.
#include "server/clients/session.h"

#include <utility>

#include "storage/memory/heap_bytes.h"

namespace sluice {

Session::Session(SessionId session_id, uint64_t client, Peer from, int64_t now_ms)
    : id(session_id),
      client_id(client),
      peer(std::move(from)),
      created_ms(now_ms),
      active_ms(now_ms),
      writer(output) {}

// Here, where the types of its parts are whole.
Session::~Session() = default;

size_t Session::MemoryBytes() const {
  size_t states = 0;
  for (const SessionState* state :
       {blocked_call.get(), transaction.get(), subscriptions.get(), tracking.get()}) {
    if (state) states += state->MemoryBytes();
  }
  // Its places in tables: by number, and the slots of clients and of sockets.
  constexpr size_t kListed = RoomOfTables(sizeof(std::pair<uint64_t, uint32_t>)) + 2 * 16;
  return BlockSize(sizeof(Session)) + kListed + host_bytes + pending.MemoryBytes() +
         parser.MemoryBytes() + tracked_bytes + output.memory() + HeapBytes(name) +
         HeapBytes(library_name) + HeapBytes(library_version) + HeapBytes(peer.address) +
         HeapBytes(peer.local_address) + states;
}

}  // namespace sluice
