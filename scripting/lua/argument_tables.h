// ArgumentTables: the globals KEYS and ARGV of a script. To make and to collect two tables is a
// sixth of what a short script costs, so one table for each small number of words is kept on the
// stack of the state and filled again.
//
// No script can tell: nothing of a run outlives it that could still hold the table, and one that a
// script has added to or given a metatable is thrown away. So is that of a run in which any large
// block of memory was taken (LuaState::kBlockNoticed): it may be a huge one that was emptied again,
// or hold a huge argument.
//
// A table of exactly its words cannot be added to without taking memory. While scripts take none
// that could be a table's, and give no table a metatable, the tables need not be looked through;
// when one has, they are from then on, until a run does neither and new tables are made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/args.h"
#include "scripting/lua/lua_api.h"

namespace sluice {

// The stack of the main thread between runs:
//
//   1 error handler | 2 globals | 3 "KEYS" | 4 .. 9 tables of 0 .. 5 words | 10 "ARGV" | 11 .. 16
//
// One for each LuaState, which calls it around every run. Set is O(words).
class ArgumentTables {
 public:
  static constexpr int kGlobals = 2;                      // the slot of the table of globals
  static constexpr int kWordsMax = 5;                     // longer ones are made each time
  static constexpr int kSlots = 2 * (1 + kWordsMax + 1);  // of the stack: two names, and the tables

  // Takes the next kSlots slots of the stack.
  void Open(lua_State* L);
  // Memory's bound must be lifted. `changed`: since the last call a table may have grown, or have
  // been given a metatable.
  void Set(lua_State* L, Args keys, Args arguments, bool changed) {
    if (changed) {
      exact_ = false;
    } else if (!exact_) {
      Forget(L);
    }
    Set(L, keys_, keys);
    Set(L, arguments_, arguments);
  }
  // After a run that took much memory: lets go of its tables and what is in them.
  void Clear(lua_State* L) {
    Clear(L, keys_);
    Clear(L, arguments_);
  }

 private:
  // No table that is kept is the global: it was made for one run, or none has run.
  static constexpr int kNone = -1;

  struct Global {
    int name = 0;  // slot; that of the table for n words is name + 1 + n, nil until it is needed
    int shown = kNone;  // the number of words whose table is the global now
    // The last bytes of the words that were put last, in whichever table: a word that ends
    // otherwise need not be looked for.
    uint64_t ends[kWordsMax] = {};
  };

  static void Open(lua_State* L, Global& global, const char* name);
  // Lets go of all tables that are kept, for they may have grown unseen; the globals show the last
  // ones until they are set.
  void Forget(lua_State* L);
  // Sets one of the two globals. Too many words get a new table for this run alone; else a table
  // that is kept and still sound is filled again, or a new one is made and kept.
  void Set(lua_State* L, Global& global, Args words);
  void Refill(lua_State* L, Global& global, int slot, Args words);
  static void Clear(lua_State* L, Global& global);

  Global keys_;
  Global arguments_;
  bool exact_ = true;  // the tables that are kept have room for their words alone, and are plain
};

// Pushes a new table of `words`.
void PushWords(lua_State* L, Args words);

}  // namespace sluice
