// See list_access.h.
#include "server/commands/lists/list_access.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "protocol/text/number_text.h"
#include "server/config/config.h"
#include "server/config/debug_settings.h"

namespace sluice {

ListLimits LimitsOf(const Parts& parts) {
  ListLimits limits = ListLimits::Of(parts.Get<Config>().settings().list_max_listpack_size);
  limits.alone_bytes = parts.Get<DebugSettings>().list_alone_bytes;
  return limits;
}

// --- pushing and popping

// One event for all elements, as in Redis. They are pushed one by one: LPUSH k a b c gives c b a.
size_t Push(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end,
            std::span<const std::string_view> texts) {
  const ListLimits limits = LimitsOf(call.parts);
  const Opened<List> list = found ? OpenFound(call, key, found) : CreateTyped<List>(call, key);
  for (const std::string_view text : texts) list->Push(end, text, limits);
  const size_t size = list->size();
  CloseTyped(call, list, kNotifyList, PushEvent(end));
  return size;
}

// The event of the pop, and `del` if that was the last element.
void Drop(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end, size_t count) {
  const Opened<List> list = OpenFound(call, key, found);
  list->Drop(end, count);
  CloseTyped(call, list, kNotifyList, PopEvent(end));
}

// Answers first, removes afterwards: the bytes that are answered stand in the list.
void ReplyPopped(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end,
                 size_t count) {
  call.reply.Array(count);
  if (count == 0) return;
  const bool from_front = end == ListEnd::kFront;
  size_t left = count;
  found->Walk(from_front ? 0 : found->size() - 1, from_front ? ListEnd::kBack : ListEnd::kFront,
              [&](size_t, std::string_view text) {
                call.reply.Bulk(text);
                return --left > 0;
              });
  Drop(call, key, found, end, count);
}

// --- moving

// Only the two words, in any case.
ListEnd ReadEnd(ArgReader& args) {
  if (args.TakeWord("LEFT")) return ListEnd::kFront;
  if (!args.TakeWord("RIGHT")) args.Fail(ErrorCode::kSyntax);
  return ListEnd::kBack;
}

// Hard here: source and target may be the same key, the source may vanish with its last element,
// and the push may move the source's entry. So the element is copied, the push comes before the
// pop, as in Redis's order of events, and the source is looked up again. A missing source wins over
// a target of another type: it is null, not WRONGTYPE.
Moved MoveElement(CommandCall& call, HashedKey source, HashedKey target, ListMove move) {
  const Typed<List> from = LookUpTyped<List>(call, source);
  if (!from) return from.refused ? Moved::kRefused : Moved::kNothing;
  char scratch[List::kTextScratch];
  const std::string text(from->AtEnd(move.from, scratch));
  if (source.bytes == target.bytes) {
    // Out before in, so that an only element finds its room again.
    const Opened<List> list = OpenFound(call, source, from);
    list->Drop(move.from, 1);
    list->Push(move.to, text, LimitsOf(call.parts));
    CloseTyped(call, list, kNotifyList, PushEvent(move.to));
    call.Changed(kNotifyList, PopEvent(move.from), source.bytes);
  } else {
    const Typed<List> to = LookUpTyped<List>(call, target);
    if (to.refused) return Moved::kRefused;
    const std::string_view texts[] = {text};
    // The source is found anew behind it: the push may have moved its entry.
    Push(call, target, to, move.to, texts);
    Drop(call, source, {call.db.Find(source, call.now)}, move.from, 1);
  }
  call.reply.Bulk(text);
  return Moved::kYes;
}

// --- LMPOP and BLMPOP

// `numkeys` must leave room for the word behind the keys. Every fault in the grammar comes before
// any look at a key. COUNT 0 is an error here, while LPOP takes it.
std::optional<MultiPop> ReadMultiPop(CommandCall& call, size_t numkeys_at) {
  MultiPop pop;
  const std::optional<int64_t> keys = ParseInt64(call.args[numkeys_at]);
  if (!keys || *keys < 1) {
    call.reply.Error("ERR numkeys should be greater than 0");
    return std::nullopt;
  }
  pop.first_key = numkeys_at + 1;
  // ">=", for LEFT or RIGHT has to follow the keys.
  if (static_cast<uint64_t>(*keys) >= call.args.size() - pop.first_key) {
    call.reply.Error(ErrorCode::kSyntax);
    return std::nullopt;
  }
  pop.keys = static_cast<size_t>(*keys);
  ArgReader args(call.args, pop.first_key + pop.keys);
  pop.end = ReadEnd(args);
  if (args.left() >= 2 && args.TakeWord("COUNT")) {
    const int64_t count = args.Int(ErrorCode::kNotPositive);
    if (count < 1) args.Fail(ErrorCode::kNotPositive);
    pop.count = static_cast<size_t>(count);
  }
  if (args.Finish()) return pop;
  call.reply.Error(args.error());
  return std::nullopt;
}

// LMPOP names several keys and finds out which one served; the effect names that one and how many.
void PopMany(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end,
             size_t count) {
  const size_t popped = std::min(count, found->size());
  if (call.wants_effects()) {
    call.ReplaceWith({PopWord(end), key.bytes, Int64Text(static_cast<int64_t>(popped))});
  }
  call.reply.Array(2);
  call.reply.Bulk(key.bytes);
  ReplyPopped(call, key, found, end, popped);
}

}  // namespace sluice
