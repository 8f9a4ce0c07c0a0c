// See pubsub.h. A message is encoded once for all receivers: RESP2 and RESP3 differ in its first
// character alone. A subscription is in three places, the set of all, the channel's list and the
// session's; the lists are intrusive, so that ending one costs no search.
#include "server/notify/pubsub.h"

#include <cassert>

#include "boost/multi_index/hashed_index.hpp"
#include "boost/multi_index/member.hpp"
#include "boost/multi_index/sequenced_index.hpp"
#include "boost/multi_index_container.hpp"
#include "boost/tuple/tuple.hpp"
#include "protocol/text/concat.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

// The elements that end every message, as bulk strings.
std::string BulkPair(std::string_view channel, std::string_view payload) {
  std::string bytes;
  bytes.reserve(channel.size() + payload.size() + 32);
  ConcatTo(bytes, "\r\n$", channel.size(), "\r\n", channel, "\r\n$", payload.size(), "\r\n",
           payload, "\r\n");
  return bytes;
}

// A subscription, and its place among all.
constexpr size_t kSubscriptionSlot = SlotBytes(sizeof(void*));
constexpr size_t kSubscriptionBytes = BlockSize(sizeof(Subscription)) + kSubscriptionSlot;

}  // namespace

// A message as values, and but for its first character: what comes before the channel's name, and
// the rest.
struct PubSub::Encoded {
  std::string head;
  std::string_view tail;
  std::string_view word;
  std::string_view channel;
  std::string_view payload;
};

struct PubSub::Names
    : boost::multi_index_container<
          Channel, boost::multi_index::indexed_by<
                       boost::multi_index::sequenced<>,
                       boost::multi_index::hashed_unique<
                           boost::multi_index::member<Channel, std::string, &Channel::name>,
                           KeyedHash, std::equal_to<>>>> {
  explicit Names(const KeyedHash& hash)
      : multi_index_container(
            boost::make_tuple(nth_index<0>::type::ctor_args(),
                              boost::make_tuple(size_t{0}, nth_index<1>::type::key_from_value(),
                                                hash, std::equal_to<>()))) {}
};

PubSub::PubSub(Clients& clients, HashKeys& hash_keys) : clients_(clients), hash_keys_(hash_keys) {}

PubSub::~PubSub() = default;

size_t PubSub::names(ChannelKind kind) const {
  const Names* const all = NamesOf(kind);
  return all ? all->size() : 0;
}

// Names are chosen by clients, so the table's hash has a secret key.
PubSub::Names& PubSub::MakeNames(ChannelKind kind) {
  std::unique_ptr<Names>& names = names_[static_cast<size_t>(kind)];
  if (!names) names = std::make_unique<Names>(KeyedHash(hash_keys_.Next()));
  return *names;
}

const Channel* PubSub::FindName(ChannelKind kind, std::string_view name) const {
  const Names* const names = NamesOf(kind);
  if (!names) return nullptr;
  const auto& by_name = names->get<1>();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &*found;
}

// --- subscribing

bool PubSub::Subscribe(Session& session, ChannelKind kind, std::string_view name) {
  const Channel* channel = FindName(kind, name);
  if (!channel) {
    channel = &*MakeNames(kind).emplace_back(kind, name).first;
  }
  const auto [place, fresh] =
      subscriptions_.insert(std::make_unique<Subscription>(session, *channel));
  if (!fresh) return false;
  if (!session.rare->subscriptions)
    session.rare.Make().subscriptions = std::make_unique<Subscriptions>();
  SubscriptionsOf(session)->kept_bytes += kSubscriptionBytes;
  channel->subscribers.push_back(**place);
  if (++channel->count == 1) Charge(*channel, 1);
  Subscriptions::OfKind& own = SubscriptionsOf(session)->of(kind);
  own.list.push_back(**place);
  ++own.count;
  ++session.subscribed_to;
  return true;
}

bool PubSub::Unsubscribe(Session& session, ChannelKind kind, std::string_view name) {
  const Channel* const channel = FindName(kind, name);
  if (!channel) return false;
  const auto place = subscriptions_.find(Pair{&session, channel});
  if (place == subscriptions_.end()) return false;
  End(**place);
  return true;
}

// `subscription` is gone afterwards, and so are names without a subscriber.
void PubSub::End(Subscription& subscription) {
  const Channel* const channel = subscription.channel;
  Session& session = *subscription.session;
  Subscriptions::OfKind& own = SubscriptionsOf(session)->of(channel->kind);
  assert(channel->count > 0 && own.count > 0 && session.subscribed_to > 0);
  --own.count;
  --session.subscribed_to;
  const bool paid = channel->subscribers.front().session == &session;
  if (paid) Charge(*channel, -1);
  SubscriptionsOf(session)->kept_bytes -= kSubscriptionBytes;
  subscriptions_.erase(Pair{&session, channel});
  if (--channel->count > 0) {
    if (paid) Charge(*channel, 1);
    return;
  }
  Names& names = MakeNames(channel->kind);
  names.erase(names.iterator_to(*channel));
}

const Channel* PubSub::First(const Session& session, ChannelKind kind) const {
  const Subscriptions* const held = SubscriptionsOf(session);
  if (!held || held->of(kind).count == 0) return nullptr;
  return held->of(kind).list.front().channel;
}

void PubSub::Forget(Session& session) {
  if (!session.rare->subscriptions) return;
  for (Subscriptions::OfKind& own : SubscriptionsOf(session)->kinds) {
    while (!own.list.empty()) End(own.list.front());
  }
  session.rare.Make().subscriptions.reset();
}

// --- publishing

// For a host program, without bytes in between.
void PubSub::PushValues(ReplySink& push, const Channel& to, const Encoded& message) {
  const bool is_pattern = to.kind == ChannelKind::kPattern;
  push.Push(is_pattern ? 4 : 3);
  push.Bulk(message.word);
  if (is_pattern) push.Bulk(to.name);
  push.Bulk(message.channel);
  push.Bulk(message.payload);
}

// A push may close a session that has too much waiting; it is only marked, so the list stays as it
// is.
size_t PubSub::Deliver(const Channel& to, const Encoded& message) {
  for (const Subscription& subscription : to.subscribers) {
    Session& session = *subscription.session;
    if (session.rare->push_sink) [[unlikely]] {
      PushValues(*session.rare->push_sink, to, message);
      continue;
    }
    clients_.Push(session, {session.resp() == 2 ? "*" : ">", message.head, message.tail});
  }
  return to.count;
}

size_t PubSub::Publish(std::string_view channel, std::string_view payload) {
  const Channel* const name = FindName(ChannelKind::kChannel, channel);
  const Names* const patterns = NamesOf(ChannelKind::kPattern);
  if (!name && !patterns) return 0;
  const std::string pair = BulkPair(channel, payload);
  size_t receivers = 0;
  if (name) receivers += Deliver(*name, {"3\r\n$7\r\nmessage", pair, "message", channel, payload});
  if (!patterns) return receivers;
  for (const Channel& pattern : *patterns) {
    if (!pattern.glob->Matches(channel)) continue;
    const std::string head =
        Concat("4\r\n$8\r\npmessage\r\n$", pattern.name.size(), "\r\n", pattern.name);
    receivers += Deliver(pattern, {head, pair, "pmessage", channel, payload});
  }
  return receivers;
}

void PubSub::EndShards(absl::FunctionRef<bool(std::string_view channel)> ends) {
  constexpr ChannelKind kShard = ChannelKind::kShardChannel;
  if (names(kShard) == 0) return;
  std::vector<std::string> over;
  ForEachName(kShard, [&](std::string_view name) {
    if (ends(name)) over.emplace_back(name);
  });
  for (const std::string& name : over) {
    while (const Channel* const channel = FindName(kShard, name)) {
      Session& session = *channel->subscribers.front().session;
      Unsubscribe(session, kShard, name);
      ReplySink& push = *session.sink;
      push.Push(3);
      push.Bulk("sunsubscribe");
      push.Bulk(name);
      push.Integer(static_cast<int64_t>(SubscriptionsOf(session)->of(kShard).count));
      clients_.ClassChanged(session);
      clients_.QueueSend(session);
    }
  }
}

// Patterns do not see it.
size_t PubSub::PublishToShard(std::string_view channel, std::string_view payload) {
  const Channel* const name = FindName(ChannelKind::kShardChannel, channel);
  if (!name) return 0;
  const std::string pair = BulkPair(channel, payload);
  return Deliver(*name, {"3\r\n$8\r\nsmessage", pair, "smessage", channel, payload});
}

// --- asking

// O(1).
size_t PubSub::Subscribers(ChannelKind kind, std::string_view name) const {
  const Channel* const channel = FindName(kind, name);
  return channel ? channel->count : 0;
}

void PubSub::ForEachName(ChannelKind kind, absl::FunctionRef<void(std::string_view)> visit) const {
  const Names* const names = NamesOf(kind);
  if (!names) return;
  for (const Channel& channel : *names) visit(channel.name);
}

// --- memory

// A node has two links for its place in the order and two for its bucket; a pattern is kept
// translated too, character by character.
size_t PubSub::BytesOf(const Channel& channel) {
  constexpr size_t kNode = BlockSize(sizeof(Channel) + 4 * sizeof(void*));
  constexpr size_t kPiecesOfGlob = BlockSize(2 * 2 * sizeof(size_t));  // one star
  const size_t bytes = kNode + HeapBytes(channel.name);
  if (!channel.glob) return bytes;
  const size_t characters = channel.name.size();
  return bytes + BlockSize(sizeof(Glob)) + BlockSize(characters * sizeof(uint32_t)) +
         BlockSize(characters) + kPiecesOfGlob;
}

void PubSub::Charge(const Channel& channel, int sign) {
  const size_t bytes = BytesOf(channel);
  SubscriptionsOf(*channel.subscribers.front().session)->kept_bytes += sign > 0 ? bytes : -bytes;
}

size_t PubSub::MemoryBytes() const {
  size_t bytes = TableBytes(subscriptions_) - subscriptions_.size() * kSubscriptionSlot;
  for (const auto& names : names_) {
    if (names)
      bytes += sizeof(Names) + AllocatedSize(names->get<1>().bucket_count() * sizeof(void*));
  }
  return bytes;
}

}  // namespace sluice
