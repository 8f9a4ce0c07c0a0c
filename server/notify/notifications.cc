// See notifications.h.
#include "server/notify/notifications.h"

#include "protocol/text/concat.h"
#include "server/notify/pubsub.h"

namespace sluice {

// Both channels get each event if both classes are wanted, the keyspace first, as in Redis. Without
// any subscriber no name is made.
void Notifications::Send(std::string_view event, int db, std::string_view key) {
  if (!pubsub_.has_listeners()) return;
  if (classes_ & kNotifyKeyspace) {
    channel_.clear();
    ConcatTo(channel_, "__keyspace@", db, "__:", key);
    pubsub_.Publish(channel_, event);
  }
  if (classes_ & kNotifyKeyevent) {
    channel_.clear();
    ConcatTo(channel_, "__keyevent@", db, "__:", event);
    pubsub_.Publish(channel_, key);
  }
}

void Notifications::SendExpired(int db, std::string_view key, std::string_view value) {
  if (!pubsub_.has_listeners()) return;
  channel_.clear();
  ConcatTo(channel_, "__keyexpired@", db, "__:", key);
  pubsub_.Publish(channel_, value);
}

}  // namespace sluice
