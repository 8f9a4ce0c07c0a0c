// Pub/sub: who listens to which channel, and the way of a message to all of them.
//
// Names come in three kinds that know nothing of each other: channels, patterns of channels, and
// shard channels. A Subscription joins a session and a name; it stands in the list of either, so
// that subscribing, unsubscribing and a connection's end cost the same however many others there
// are. All lists keep the order of subscribing: it is the order of delivery and of what PUBSUB
// shows.
//
// A message is encoded once and its bytes are appended to every receiver's output; RESP2 and RESP3
// differ in its first character alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "boost/intrusive/list.hpp"
#include "protocol/text/glob.h"
#include "server/clients/clients.h"
#include "storage/hashing/key_hash.h"
#include "storage/memory/block_size.h"

namespace sluice {

// Names of different kinds never meet: a channel and a pattern may be called the same.
enum class ChannelKind : uint8_t { kChannel, kPattern, kShardChannel };
inline constexpr size_t kChannelKinds = 3;

struct ChannelTag;
struct SessionTag;
template <typename Tag>
using SubscriptionHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
struct Channel;

// Owned by PubSub::subscriptions_; its destruction takes it out of both lists.
struct Subscription : SubscriptionHook<ChannelTag>, SubscriptionHook<SessionTag> {
  Subscription(Session& subscriber, const Channel& to) : session(&subscriber), channel(&to) {}
  Session* const session;
  const Channel* const channel;
};
template <typename Tag>
using SubscriptionList =
    boost::intrusive::list<Subscription, boost::intrusive::base_hook<SubscriptionHook<Tag>>,
                           boost::intrusive::constant_time_size<false>>;

// A name that sessions have subscribed to: comes with the first of them and goes with the last.
struct Channel {
  Channel(ChannelKind its_kind, std::string_view text)
      : kind(its_kind),
        name(text),
        glob(its_kind == ChannelKind::kPattern ? std::make_unique<const Glob>(text) : nullptr) {}
  ChannelKind kind;
  std::string name;
  std::unique_ptr<const Glob> glob;                  // of a pattern
  mutable SubscriptionList<ChannelTag> subscribers;  // never empty
  mutable size_t count = 0;
};

// The names that one session has subscribed to.
struct Subscriptions final : SessionState {
  struct OfKind {
    SubscriptionList<SessionTag> list;
    size_t count = 0;
  };
  std::array<OfKind, kChannelKinds> kinds;
  size_t kept_bytes = 0;  // of them, and of names whose oldest subscriber it is
  OfKind& of(ChannelKind kind) { return kinds[static_cast<size_t>(kind)]; }
  const OfKind& of(ChannelKind kind) const { return kinds[static_cast<size_t>(kind)]; }
  size_t total() const { return kinds[0].count + kinds[1].count + kinds[2].count; }
  size_t MemoryBytes() const override { return BlockSize(sizeof(*this)) + kept_bytes; }
};

// Null before its first subscription.
inline Subscriptions* SubscriptionsOf(const Session& session) {
  return static_cast<Subscriptions*>(session.rare->subscriptions.get());
}

class PubSub {
 public:
  PubSub(Clients& clients, HashKeys& hash_keys);
  ~PubSub();
  PubSub(const PubSub&) = delete;
  PubSub& operator=(const PubSub&) = delete;

  // False when it was subscribed already, or was not. O(1).
  bool Subscribe(Session& session, ChannelKind kind, std::string_view name);
  bool Unsubscribe(Session& session, ChannelKind kind, std::string_view name);
  // The one of that kind that it has been subscribed to for longest; null when there is none.
  const Channel* First(const Session& session, ChannelKind kind) const;
  // From everything: the session ends, or is reset. O(subscriptions of the session), however many
  // subscribers its channels have.
  void Forget(Session& session);

  // Both return how many receivers there were; a session that a channel and patterns match gets the
  // message, and counts, once for each. The bytes are copied into each receiver's output before it
  // returns. O(receivers), and for channels O(patterns): each is compared with the channel, in the
  // order in which they came.
  size_t Publish(std::string_view channel, std::string_view payload);
  size_t PublishToShard(std::string_view channel, std::string_view payload);

  // Ends all subscriptions to these shard channels, and tells each client so (`sunsubscribe`).
  // O(shard channels and their subscribers).
  void EndShards(absl::FunctionRef<bool(std::string_view channel)> ends);

  bool has_listeners() const {
    return names(ChannelKind::kChannel) > 0 || names(ChannelKind::kPattern) > 0;
  }
  // How many names of that kind have subscribers, how many one of them has, and all of them.
  size_t names(ChannelKind kind) const;
  size_t Subscribers(ChannelKind kind, std::string_view name) const;
  void ForEachName(ChannelKind kind, absl::FunctionRef<void(std::string_view)> visit) const;
  // Memory that no client is charged with: the tables that find names and subscriptions, as far as
  // they are free. O(1).
  size_t MemoryBytes() const;

 private:
  struct Encoded;
  struct Names;  // in the order of their first subscribers, and by name
  // A subscription is found by the pair that it joins: addresses, which clients do not choose.
  struct Pair {
    const Session* session;
    const Channel* channel;
  };
  static Pair PairOf(const Pair& pair) { return pair; }
  static Pair PairOf(const std::unique_ptr<Subscription>& it) { return {it->session, it->channel}; }
  struct PairHash {
    using is_transparent = void;
    size_t operator()(const auto& it) const {
      return absl::HashOf(PairOf(it).session, PairOf(it).channel);
    }
  };
  struct PairEqual {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return PairOf(a).session == PairOf(b).session && PairOf(a).channel == PairOf(b).channel;
    }
  };

  Names& MakeNames(ChannelKind kind);
  // Null while there was none of that kind yet.
  const Names* NamesOf(ChannelKind kind) const { return names_[static_cast<size_t>(kind)].get(); }
  const Channel* FindName(ChannelKind kind, std::string_view name) const;
  static size_t BytesOf(const Channel& channel);
  // A name is paid for by its oldest subscriber.
  static void Charge(const Channel& channel, int sign);
  void End(Subscription& subscription);
  static void PushValues(ReplySink& push, const Channel& to, const Encoded& message);
  size_t Deliver(const Channel& to, const Encoded& message);

  Clients& clients_;
  HashKeys& hash_keys_;
  std::array<std::unique_ptr<Names>, kChannelKinds> names_;
  absl::flat_hash_set<std::unique_ptr<Subscription>, PairHash, PairEqual> subscriptions_;
};

}  // namespace sluice
