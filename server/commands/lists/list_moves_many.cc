// LMOVEM and BLMOVEM: several elements go from one end of a list to one end of another or of the
// same, as one block.
//
//   LMOVEM source target LEFT | RIGHT LEFT | RIGHT [COUNT n | EXACTLY n OBO | BULK]
//
//   COUNT n    as many as there are, n at most          OBO   as n times LMOVE would put them
//   EXACTLY n  n, or nothing moves                      BULK  as they stand in the source
//
// All of the block is taken before any of it is put: with one list that makes a difference to LMOVE
// again and again. After `RPUSH l a b c`, LEFT LEFT COUNT 2:
//
//   OBO   → b a, and the target begins with these     BULK  → a b
//
// The log and redis-servers that follow are told in words that Redis 7.0 has: LMOVE for one
// element, else pops and pushes.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/lists/list_access.h"
#include "server/commands/shared/blocking.h"
#include "server/commands/shared/rows.h"
#include "server/waiting/waiters.h"

namespace sluice {
namespace {

constexpr size_t kTextsPerEffect = 1000;

struct BlockMove {
  ListMove ends;
  size_t count = 1;
  bool exactly = false;
  bool in_bulk = false;

  // How many elements there have to be for it to move any.
  size_t needs() const { return exactly ? count : 1; }
};

// [COUNT n | EXACTLY n OBO | BULK], and nothing behind it. Without the words it is one element.
void ReadHowMany(ArgReader& args, BlockMove& move) {
  if (!args.more()) return;
  move.exactly = args.TakeWord("EXACTLY");
  if (!move.exactly && !args.TakeWord("COUNT")) return args.Fail(ErrorCode::kSyntax);
  const int64_t count = args.Int(ErrorCode::kNotPositive);
  if (count < 1) args.Fail(ErrorCode::kNotPositive);
  move.count = static_cast<size_t>(count);
  move.in_bulk = args.TakeWord("BULK");
  if (!move.in_bulk && !args.TakeWord("OBO")) args.Fail(ErrorCode::kSyntax);
}

// --- the block

// Its elements as they are to stand in the target, from left to right. Requires: the list has so
// many.
std::vector<std::string> BlockOf(const List& list, const BlockMove& move, size_t count) {
  std::vector<std::string> block;
  block.reserve(count);
  const bool from_front = move.ends.from == ListEnd::kFront;
  list.Walk(from_front ? 0 : list.size() - 1, from_front ? ListEnd::kBack : ListEnd::kFront,
            [&](size_t, std::string_view text) {
              block.emplace_back(text);
              return block.size() < count;
            });
  const bool to_front = move.ends.to == ListEnd::kFront;
  if (move.in_bulk ? !from_front : to_front) std::ranges::reverse(block);
  return block;
}

// The block in the order in which pushing it one by one puts it there.
std::vector<std::string_view> InOrderOfPushes(const std::vector<std::string>& block, ListEnd to) {
  std::vector<std::string_view> texts(block.begin(), block.end());
  if (to == ListEnd::kFront) std::ranges::reverse(texts);
  return texts;
}

// --- effects

// A push of all that is in order, in as many commands as are needed.
void RecordPushes(CommandCall& call, std::string_view key, ListEnd to,
                  std::span<const std::string_view> texts) {
  while (!texts.empty()) {
    const auto part = texts.first(std::min(texts.size(), kTextsPerEffect));
    std::vector<std::string_view> words = {to == ListEnd::kFront ? "LPUSH" : "RPUSH", key};
    words.insert(words.end(), part.begin(), part.end());
    call.ReplaceWith(Args(words));
    texts = texts.subspan(part.size());
  }
}

void RecordPop(CommandCall& call, std::string_view key, ListEnd from, size_t count) {
  call.ReplaceWith({PopWord(from), key, Int64Text(static_cast<int64_t>(count))});
}

// The list is never empty in between, or it would lose its deadline: the push comes first. A block
// that stays at its end is popped first, or goes to the other end if it is the whole list.
void RecordWithinList(CommandCall& call, const BlockMove& move,
                      const std::vector<std::string>& block, bool is_whole) {
  const std::string_view list = call.args[1];
  const auto [from, to] = move.ends;
  if (from == to && move.in_bulk) return call.NoEffect();
  if (from == to && !is_whole) {
    RecordPop(call, list, from, block.size());
    return RecordPushes(call, list, to, InOrderOfPushes(block, to));
  }
  const ListEnd end = from == ListEnd::kFront ? ListEnd::kBack : ListEnd::kFront;
  RecordPushes(call, list, end, InOrderOfPushes(block, end));
  RecordPop(call, list, from, block.size());
}

// `is_whole`: the source had no more elements than these.
void RecordMove(CommandCall& call, const BlockMove& move, const std::vector<std::string>& block,
                bool is_whole) {
  if (!call.wants_effects()) return;
  const std::string_view source = call.args[1];
  const std::string_view target = call.args[2];
  const auto [from, to] = move.ends;
  if (block.size() == 1)
    return call.ReplaceWith({"LMOVE", source, target, EndWord(from), EndWord(to)});
  if (source == target) return RecordWithinList(call, move, block, is_whole);
  RecordPop(call, source, from, block.size());
  RecordPushes(call, target, to, InOrderOfPushes(block, to));
}

// --- moving

void ReplyBlock(ReplySink& reply, const std::vector<std::string>& block) {
  reply.Array(block.size());
  for (const std::string& text : block) reply.Bulk(text);
}

// Out before in, so that the elements find their room again.
void TurnList(CommandCall& call, HashedKey key, const Typed<List>& found, const ListMove& ends,
              const std::vector<std::string>& block) {
  const Opened<List> list = OpenFound(call, key, found);
  list->Drop(ends.from, block.size());
  for (const std::string_view text : InOrderOfPushes(block, ends.to))
    list->Push(ends.to, text, LimitsOf(call.parts));
  CloseTyped(call, list, kNotifyList, PushEvent(ends.to));
  call.Changed(kNotifyList, PopEvent(ends.from), key.bytes);
}

// As MoveElement, with a block. kNothing: the source has not enough; the target is not looked at.
Moved MoveBlock(CommandCall& call, const BlockMove& move) {
  const HashedKey source = call.Key(1);
  const HashedKey target = call.Key(2);
  const Typed<List> from = LookUpTyped<List>(call, source);
  if (from.refused) return Moved::kRefused;
  if (!from || from->size() < move.needs()) return Moved::kNothing;
  const bool is_whole = move.count >= from->size();
  const std::vector<std::string> block = BlockOf(*from, move, std::min(move.count, from->size()));
  if (source.bytes == target.bytes) {
    TurnList(call, source, from, move.ends, block);
  } else {
    const Typed<List> to = LookUpTyped<List>(call, target);
    if (to.refused) return Moved::kRefused;
    Push(call, target, to, move.ends.to, InOrderOfPushes(block, move.ends.to));
    // The source is found anew behind it: the push may have moved its entry.
    Drop(call, source, {call.db.Find(source, call.now)}, move.ends.from, block.size());
  }
  RecordMove(call, move, block, is_whole);
  ReplyBlock(call.reply, block);
  return Moved::kYes;
}

// All words before any key. After `RPUSH l a b c`:
//   LMOVEM l t LEFT RIGHT                   → ["a"]
//   LMOVEM l t RIGHT RIGHT COUNT 5 OBO      → ["c", "b"]
//   LMOVEM l t LEFT LEFT EXACTLY 2 BULK     → nil array  the list is gone
//   LMOVEM l t LEFT LEFT COUNT 2            → -ERR syntax error
void LMoveM(CommandCall& call) {
  ArgReader args(call.args, 3);
  BlockMove move;
  move.ends.from = ReadEnd(args);
  move.ends.to = ReadEnd(args);
  ReadHowMany(args, move);
  if (!args.Finish()) return call.reply.Error(args.error());
  if (MoveBlock(call, move) == Moved::kNothing) call.reply.NullArray();
}

// With COUNT it waits while the source has nothing, with EXACTLY while it has too little; others
// see and take what is there meanwhile. In MULTI and scripts it answers as LMOVEM. After
// `RPUSH l a b`:
//   BLMOVEM l t LEFT RIGHT 0.01 EXACTLY 3 BULK  → nil array
//   BLMOVEM l t LEFT RIGHT 0 EXACTLY 2 BULK     → ["a", "b"]
//   BLMOVEM l t LEFT RIGHT -1                   → -ERR timeout is negative
void BLMoveM(CommandCall& call) {
  ArgReader args(call.args, 3);
  BlockMove move;
  move.ends.from = ReadEnd(args);
  move.ends.to = ReadEnd(args);
  const int64_t deadline_ms = ReadTimeoutSeconds(args, call);
  ReadHowMany(args, move);
  if (!args.Finish()) return call.reply.Error(args.error());
  if (MoveBlock(call, move) != Moved::kNothing) return;
  Block(call, call.args.subspan(1, 1), {.deadline_ms = deadline_ms, .type = List::kType});
}

// --- the table

constexpr CommandRow kListMovesManyRows[] = {
    {.name = "LMOVEM",
     .arity = -5,
     .flags = kNotInRedis70 | kWrite | kDenyOom,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = LMoveM,
     .group = "list",
     .since = "8.10.0",
     .complexity = "O(N) where N is the number of elements moved.",
     .usage = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT> "
              "how-many=[selector=<COUNT count | EXACTLY exactly:integer> ordering=<OBO | BULK>]",
     .summary = "Move several elements from one list to another, and answer with them."},
    {.name = "BLMOVEM",
     .arity = -6,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kBlocking,
     .categories = kCatList,
     .keys = kSourceAndTarget,
     .run = BLMoveM,
     .group = "list",
     .since = "8.10.0",
     .complexity = "O(N) where N is the number of elements moved.",
     .usage = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT> timeout:double "
              "how-many=[selector=<COUNT count | EXACTLY exactly:integer> ordering=<OBO | BULK>]",
     .summary = "As LMOVEM, or wait until there are enough elements."},
};

}  // namespace

CommandFamily ListMovesManyFamily() { return {"list_moves_many", kSpecsOf<kListMovesManyRows>}; }

}  // namespace sluice
