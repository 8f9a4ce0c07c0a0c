// Shared by the list commands: finding a list, taking elements off an end, and the words that they
// have in common.
//
// A list is a chain of packed nodes (storage/types/list.h): both ends are O(1), the middle is
// O(nodes). No list is empty between two commands: the last element takes its key along.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "server/commands/shared/lookup.h"
#include "server/dispatch/arg_reader.h"
#include "storage/types/list.h"

namespace sluice {

// Elements go from the first key to the second.
inline constexpr KeySpecs kSourceAndTarget =
    KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete) + KeyAt(2, kKeyRw | kKeyInsert);

// The limits that list-max-listpack-size and DEBUG QUICKLIST-PACKED-THRESHOLD set.
ListLimits LimitsOf(const Parts& parts);

// Pushes texts one by one, makes the list where the key is free, and notifies; the length then.
// Requires: `found` is what the key holds, and not refused.
size_t Push(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end,
            std::span<const std::string_view> texts);
// Takes elements off an end, and the key with the last of them; notifies of both. Requires: `found`
// is the list at the key and has so many.
void Drop(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end, size_t count);
// Answers with the elements from an end on before that.
void ReplyPopped(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end,
                 size_t count);

// LEFT or RIGHT; anything else is a syntax error.
ListEnd ReadEnd(ArgReader& args);
constexpr std::string_view EndWord(ListEnd end) {
  return end == ListEnd::kFront ? "LEFT" : "RIGHT";
}
constexpr std::string_view PopWord(ListEnd end) { return end == ListEnd::kFront ? "LPOP" : "RPOP"; }
constexpr std::string_view PushEvent(ListEnd end) {
  return end == ListEnd::kFront ? "lpush" : "rpush";
}
constexpr std::string_view PopEvent(ListEnd end) {
  return end == ListEnd::kFront ? "lpop" : "rpop";
}

// LMOVE's work: the element at one end of a list goes to one end of another or of the same.
struct ListMove {
  ListEnd from = ListEnd::kFront;
  ListEnd to = ListEnd::kFront;
};
enum class Moved : uint8_t {
  kYes,      // answered with the element
  kRefused,  // answered with WRONGTYPE
  kNothing,  // the source is missing; not answered
};
Moved MoveElement(CommandCall& call, HashedKey source, HashedKey target, ListMove move);

// LMPOP's and BLMPOP's words behind (the time-out and) the name: numkeys key [key ...] LEFT | RIGHT
// [COUNT count]. Null: the error has been answered.
struct MultiPop {
  size_t first_key = 0;
  size_t keys = 0;
  ListEnd end = ListEnd::kFront;
  size_t count = 1;
};
std::optional<MultiPop> ReadMultiPop(CommandCall& call, size_t numkeys_at);
// Pops from a list that is there: answers with the key and an array. Instead of the command the
// effect is one LPOP or RPOP.
void PopMany(CommandCall& call, HashedKey key, const Typed<List>& found, ListEnd end, size_t count);

}  // namespace sluice
