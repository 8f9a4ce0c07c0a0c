// The pub/sub family. Subscriptions, and the way of a message, are in server/notify/pubsub.h;
// this file reads names and confirms, one push for each name.
//
// Confirmations and messages are pushes: in RESP3 they may stand between the answers of other
// commands, in RESP2 the connection takes only a few commands while it has a subscription. Nothing
// here is kept over a restart, and nothing is logged; replicas are sent each message.
//
//   > PSUBSCRIBE news.*
//   < psubscribe "news.*" 1           1 subscription now
//   > PUBLISH news.tech hi            from another client; answers 1
//   < pmessage "news.*" "news.tech" "hi"

#include "server/notify/pubsub.h"

#include <optional>
#include <string>
#include <vector>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "protocol/text/glob.h"
#include "server/clients/clients.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/rows.h"

namespace sluice {
namespace {

using Kind = ChannelKind;

// By ChannelKind: what a confirmation calls the event.
struct KindWords {
  std::string_view subscribed;
  std::string_view unsubscribed;
};
constexpr KindWords kWords[] = {
    {"subscribe", "unsubscribe"}, {"psubscribe", "punsubscribe"}, {"ssubscribe", "sunsubscribe"}};

// By kind, as the confirmation spells it.
const KindWords& WordsOf(Kind kind) { return kWords[static_cast<size_t>(kind)]; }

// The last number of a confirmation: how many subscriptions the client has, channels and patterns
// together. Shard channels are counted by themselves.
size_t CountFor(const Session& client, Kind kind) {
  if (!client.rare->subscriptions) return 0;
  const Subscriptions& held = *SubscriptionsOf(client);
  if (kind == Kind::kShardChannel) return held.of(kind).count;
  return held.of(Kind::kChannel).count + held.of(Kind::kPattern).count;
}

// Whatever CLIENT REPLY says, as these are pushes.
void Confirm(CommandCall& call, std::string_view word, Kind kind,
             std::optional<std::string_view> name) {
  ReplySink& reply = *call.client.sink;
  reply.Push(3);
  reply.Bulk(word);
  if (name) {
    reply.Bulk(*name);
  } else {
    reply.Null();
  }
  reply.Integer(static_cast<int64_t>(CountFor(call.client, kind)));
}

// --- subscribing

// Answers with an error where so many names more would be too many; those that the client has
// already count as well.
bool IsFull(CommandCall& call, Kind kind) {
  const size_t most = kind == Kind::kPattern ? kPatternsMax : kSubscriptionsMax;
  const size_t held =
      call.client.rare->subscriptions ? SubscriptionsOf(call.client)->of(kind).count : 0;
  if (held + call.args.size() - 1 <= most) return false;
  call.reply.Error(Concat("ERR a client subscribes to at most ", most, " names of a kind"));
  return true;
}

// One confirmation a name, also for one that was subscribed to already; so a request has as many
// answers as names.
template <Kind kind>
void Subscribe(CommandCall& call) {
  // In MULTI the two older kinds are allowed for history's sake, this one is not.
  if (kind == Kind::kShardChannel && !call.may_block()) {
    return call.reply.Error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
  }
  if (IsFull(call, kind)) return;
  for (const std::string_view name : call.args.subspan(1)) {
    call.part<PubSub>().Subscribe(call.client, kind, name);
    Confirm(call, WordsOf(kind).subscribed, kind, name);
  }
  call.part<Clients>().ClassChanged(call.client);
}

// Without names: everything of this kind goes, with a confirmation each. A client without any still
// gets one, with a null for the name, because it waits for one.
void UnsubscribeAll(CommandCall& call, Kind kind) {
  PubSub& pubsub = call.part<PubSub>();
  const std::string_view word = WordsOf(kind).unsubscribed;
  bool any = false;
  while (const Channel* first = pubsub.First(call.client, kind)) {
    const std::string name = first->name;  // it may go with its last subscriber
    pubsub.Unsubscribe(call.client, kind, name);
    Confirm(call, word, kind, name);
    any = true;
  }
  if (!any) Confirm(call, word, kind, std::nullopt);
}

// A confirmation a name, also for one that was not subscribed to: the client counts them.
template <Kind kind>
void Unsubscribe(CommandCall& call) {
  if (call.args.size() == 1) UnsubscribeAll(call, kind);
  for (const std::string_view name : call.args.subspan(1)) {
    call.part<PubSub>().Unsubscribe(call.client, kind, name);
    Confirm(call, WordsOf(kind).unsubscribed, kind, name);
  }
  call.part<Clients>().ClassChanged(call.client);
}

// --- publishing

// The answer counts clients that got it: a client with a channel and a matching pattern counts
// twice. O(subscribers + patterns).
void Publish(CommandCall& call) {
  const size_t receivers = call.part<PubSub>().Publish(call.args[1], call.args[2]);
  call.ForStreamAlone();
  call.reply.Integer(static_cast<int64_t>(receivers));
}

// Shard channels are a name space of their own: PUBLISH does not reach them, and patterns do not
// see them.
void PublishToShard(CommandCall& call) {
  const size_t receivers = call.part<PubSub>().PublishToShard(call.args[1], call.args[2]);
  call.ForStreamAlone();
  call.reply.Integer(static_cast<int64_t>(receivers));
}

// --- PUBSUB

// PUBSUB CHANNELS and SHARDCHANNELS: names that have subscribers, in no order; patterns are not
// looked at. O(channels).
template <Kind kind>
void Names(CommandCall& call) {
  if (call.args.size() > 3) {
    return call.reply.Error(Concat("ERR unknown subcommand or wrong number of arguments for '",
                                   call.args[1], "'. Try PUBSUB HELP."));
  }
  const bool all = call.args.size() < 3;
  const Glob glob(all ? "" : call.args[2]);
  std::vector<std::string_view> names;
  call.part<PubSub>().ForEachName(kind, [&](std::string_view name) {
    if (all || glob.Matches(name)) names.push_back(name);
  });
  call.reply.Array(names.size());
  for (const std::string_view name : names) call.reply.Bulk(name);
}

// Names and numbers in turn, flat in both protocols. Patterns are not counted.
//   PUBSUB NUMSUB a b  → ["a", 0, "b", 0]  also of channels without subscribers
template <Kind kind>
void CountSubscribers(CommandCall& call) {
  const Args names = call.args.subspan(2);
  call.reply.Array(names.size() * 2);
  for (const std::string_view name : names) {
    call.reply.Bulk(name);
    call.reply.Integer(static_cast<int64_t>(call.part<PubSub>().Subscribers(kind, name)));
  }
}

// Different patterns, not subscriptions to them.
void CountPatterns(CommandCall& call) {
  call.reply.Integer(static_cast<int64_t>(call.part<PubSub>().names(Kind::kPattern)));
}

constexpr std::string_view kPubSubHelp[] = {
    "CHANNELS [<pattern>]",
    "    The channels with subscribers: all, or those that match.",
    "NUMPAT",
    "    How many patterns are subscribed to.",
    "NUMSUB [<channel> ...]",
    "    How many subscribers these channels have, patterns not counted.",
    "SHARDCHANNELS [<pattern>]",
    "    The shard channels with subscribers: all, or those that match.",
    "SHARDNUMSUB [<shardchannel> ...]",
    "    How many subscribers these shard channels have.",
};

void PubSubHelp(CommandCall& call) { ReplyHelp(call, kPubSubHelp); }

// --- the table

// Messages are no data: they flow while a log is loaded, too.
constexpr uint32_t kAsk = kPubSub | kLoading | kStale;
// A subscriber may send these on a RESP2 connection; scripts may not.
constexpr uint32_t kListen = kAsk | kNoScript | kInSubscriber;

constexpr CommandRow kPubSubSubcommands[] = {
    {.name = "CHANNELS",
     .arity = -2,
     .flags = kAsk,
     .run = Names<Kind::kChannel>,
     .group = "pubsub",
     .since = "2.8.0",
     .complexity = "O(N) where N is the number of channels",
     .usage = "[pattern]",
     .summary = "The channels that have subscribers."},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = PubSubHelp,
     .group = "pubsub",
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
    {.name = "NUMPAT",
     .arity = 2,
     .flags = kAsk,
     .run = CountPatterns,
     .group = "pubsub",
     .since = "2.8.0",
     .complexity = "O(1)",
     .summary = "How many patterns are subscribed to."},
    {.name = "NUMSUB",
     .arity = -2,
     .flags = kAsk,
     .run = CountSubscribers<Kind::kChannel>,
     .group = "pubsub",
     .since = "2.8.0",
     .complexity = "O(N) where N is the number of channels asked about",
     .usage = "[channel [channel ...]]",
     .summary = "How many subscribers channels have."},
    {.name = "SHARDCHANNELS",
     .arity = -2,
     .flags = kAsk,
     .run = Names<Kind::kShardChannel>,
     .group = "pubsub",
     .since = "7.0.0",
     .complexity = "O(N) where N is the number of shard channels",
     .usage = "[pattern]",
     .summary = "The shard channels that have subscribers."},
    {.name = "SHARDNUMSUB",
     .arity = -2,
     .flags = kAsk,
     .run = CountSubscribers<Kind::kShardChannel>,
     .group = "pubsub",
     .since = "7.0.0",
     .complexity = "O(N) where N is the number of shard channels asked about",
     .usage = "[shardchannel [shardchannel ...]]",
     .summary = "How many subscribers shard channels have."},
};

// SSUBSCRIBE's channels are described as keys, since a cluster routes by them (kKeyNotKey).
constexpr CommandRow kPubSubListed[] = {
    {.name = "SUBSCRIBE",
     .arity = -2,
     .flags = kListen,
     .run = Subscribe<Kind::kChannel>,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of channels",
     .usage = "channel [channel ...]",
     .summary = "Listen to channels.",
     .channels = {.begin = 1, .to_end = true}},
    {.name = "UNSUBSCRIBE",
     .arity = -1,
     .flags = kListen,
     .run = Unsubscribe<Kind::kChannel>,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of channels",
     .usage = "[channel [channel ...]]",
     .summary = "Listen to these channels, or to all, no longer."},
    {.name = "PSUBSCRIBE",
     .arity = -2,
     .flags = kListen,
     .run = Subscribe<Kind::kPattern>,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of patterns",
     .usage = "pattern=<pattern ...>",
     .summary = "Listen to all channels that match a pattern.",
     .channels = {.begin = 1, .to_end = true, .patterns = true}},
    {.name = "PUNSUBSCRIBE",
     .arity = -1,
     .flags = kListen,
     .run = Unsubscribe<Kind::kPattern>,
     .since = "2.0.0",
     .complexity = "O(N) where N is the number of patterns",
     .usage = "[pattern [pattern ...]]",
     .summary = "Listen to these patterns, or to all, no longer."},
    {.name = "SSUBSCRIBE",
     .arity = -2,
     .flags = kListen,
     .keys = KeyRange(1, -1, 1, kKeyNotKey),
     .run = Subscribe<Kind::kShardChannel>,
     .since = "7.0.0",
     .complexity = "O(N) where N is the number of shard channels",
     .usage = "shardchannel [shardchannel ...]",
     .summary = "Listen to shard channels.",
     .channels = {.begin = 1, .to_end = true}},
    {.name = "PUBLISH",
     .arity = 3,
     .flags = kAsk | kFast | kMayReplicate,
     .run = Publish,
     .since = "2.0.0",
     .complexity =
         "O(N+M) where N is the number of the channel's subscribers and M that of patterns",
     .usage = "channel message",
     .summary = "Send a message to all subscribers of a channel.",
     .channels = {.begin = 1}},
    {.name = "SPUBLISH",
     .arity = 3,
     .flags = kAsk | kFast | kMayReplicate,
     .keys = KeyAt(1, kKeyNotKey),
     .run = PublishToShard,
     .since = "7.0.0",
     .complexity = "O(N) where N is the number of the channel's subscribers",
     .usage = "shardchannel message",
     .summary = "Send a message to all subscribers of a shard channel.",
     .channels = {.begin = 1}},
    {.name = "PUBSUB",
     .arity = -2,
     .subcommands = kSpecsOf<kPubSubSubcommands>,
     .since = "2.8.0",
     .complexity = "Depends on subcommand.",
     .summary = "Who listens to what."},
    {.name = "SUNSUBSCRIBE",
     .arity = -1,
     .flags = kListen,
     .keys = KeyRange(1, -1, 1, kKeyNotKey),
     .run = Unsubscribe<Kind::kShardChannel>,
     .since = "7.0.0",
     .complexity = "O(N) where N is the number of shard channels",
     .usage = "[shardchannel [shardchannel ...]]",
     .summary = "Listen to these shard channels, or to all, no longer."},
};
constexpr auto kPubSubRows = RowsOf(kPubSubListed, {.group = "pubsub"});

}  // namespace

CommandFamily PubSubFamily() { return {"pubsub", kSpecsOf<kPubSubRows>}; }

}  // namespace sluice
