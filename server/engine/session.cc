#include "server/engine/session.h"

#include <utility>

#include "server/engine/pubsub.h"
#include "server/engine/tracking.h"
#include "server/engine/waiters.h"

namespace sluice {

Session::Session(SessionId session_id, uint64_t client, Peer from, int64_t now_ms)
    : id(session_id),
      client_id(client),
      peer(std::move(from)),
      created_ms(now_ms),
      active_ms(now_ms),
      writer(output) {}

Session::~Session() = default;

bool Session::subscribes() const { return subscriptions && subscriptions->total() > 0; }

size_t Session::MemoryBytes() const {
  size_t transactions = 0;
  for (const auto& held : {transaction.get(), executing.get()}) {
    if (held) transactions += sizeof(Transaction) + held->queue_bytes;
  }
  return sizeof(Session) + pending.capacity() + output.memory() + name.capacity() +
         library_name.capacity() + library_version.capacity() + transactions +
         (parked ? sizeof(Parked) + parked->request.bytes() : 0);
}

}  // namespace sluice
