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
  size_t rare_bytes = 0;
  if (rare.is_made()) {
    rare_bytes = BlockSize(sizeof(SessionRareParts)) + rare->tracked_bytes;
    for (const auto* state : {&rare->blocked_call, &rare->transaction, &rare->subscriptions,
                              &rare->tracking, &rare->replica}) {
      if (*state) rare_bytes += (*state)->MemoryBytes();
    }
  }
  // Its places in tables: by number, and the slots of clients and of sockets.
  constexpr size_t kListed = RoomOfTables(sizeof(uint32_t) + 1) + 2 * 16;
  return BlockSize(sizeof(Session)) + kListed + host_bytes + pending.MemoryBytes() +
         parser.MemoryBytes() + output.memory() + HeapBytes(name) + HeapBytes(library_name) +
         HeapBytes(library_version) + HeapBytes(peer.address) + HeapBytes(peer.local_address) +
         rare_bytes;
}

}  // namespace sluice
