// See notifications.h.
#include "server/notify/notifications.h"

#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"
#include "server/notify/pubsub.h"

namespace sluice {
namespace {

constexpr size_t kChannelBytesKept = 4096;

}  // namespace

void Notifications::Publish(std::string_view prefix, int db, std::string_view name,
                            std::string_view message) {
  ConcatTo(channel_, prefix, db, "__:", name);
  pubsub_.Publish(channel_, message);
  ClearKeeping(channel_, kChannelBytesKept);  // a key may be very long
}

// Both channels get each event if both classes are wanted, the keyspace first, as in Redis. Without
// any subscriber no name is made.
void Notifications::Send(std::string_view event, int db, std::string_view key) {
  if (!pubsub_.has_listeners()) return;
  if (classes_ & kNotifyKeyspace) Publish("__keyspace@", db, key, event);
  if (classes_ & kNotifyKeyevent) Publish("__keyevent@", db, event, key);
}

void Notifications::SendExpired(int db, std::string_view key, std::string_view value) {
  if (!pubsub_.has_listeners()) return;
  Publish("__keyexpired@", db, key, value);
}

}  // namespace sluice
