// Keyspace notifications: what happens to keys, published on the channels __keyspace@<db>__:<key>
// and __keyevent@<db>__:<event>. Handlers say it with CommandCall::Changed, after the change and in
// the order in which Redis emits it:
//
//   call.Changed(kNotifyHash, "hset", key);
//
// While no class is wanted (notify-keyspace-events) that costs one test of a mask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/config/event_classes.h"

namespace sluice {

class PubSub;

class Notifications {
 public:
  // `classes` are the NotifyClass bits that are wanted at any time: those of the settings. Both
  // outlive it.
  Notifications(const uint32_t& classes, PubSub& pubsub) : classes_(classes), pubsub_(pubsub) {}

  // Whether that class is wanted at all; K or E decide only in Send on which channels.
  bool Wants(NotifyClass event_class) const { return (classes_ & event_class) != 0; }
  void Notify(NotifyClass event_class, std::string_view event, int db, std::string_view key) {
    if (Wants(event_class)) [[unlikely]]
      Send(event, db, key);
  }
  // Publishes what a key held whose time is over (sluice-expired-value).
  void SendExpired(int db, std::string_view key, std::string_view value);

 private:
  void Send(std::string_view event, int db, std::string_view key);
  void Publish(std::string_view prefix, int db, std::string_view name, std::string_view message);

  const uint32_t& classes_;
  PubSub& pubsub_;
  std::string channel_;  // kept for its memory, where that is little
};

}  // namespace sluice
