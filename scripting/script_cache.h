// ScriptCache: scripts by the SHA1 of their text, compiled once, in one Lua state that is made with
// the first of them. A text that was seen before is found by itself, without its SHA1 being
// computed again; a long one by its SHA1, which takes no longer.
//
// Scripts that were given to SCRIPT LOAD stay until they are flushed, for a client that loads one
// counts on its SHA1; they take kKeptScriptBytesMax at most. The others, which only EVAL has sent,
// stay by their last use, up to kEvictableBytesMax: a client that builds a text of its own for each
// call takes no more than that from all others.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/attributes.h"
#include "absl/container/flat_hash_set.h"
#include "scripting/lua/lua_state.h"
#include "scripting/script_flags.h"
#include "storage/hashing/key_hash.h"

namespace sluice {

// Owned by by_sha1_; its address is stable, so by_text_ and the list of uses point at it.
struct Script {
  std::string text;
  std::array<char, 40> sha1;  // lower-case hex
  uint32_t flags = 0;         // ScriptFlag
  int function = 0;           // reference in Lua's registry
  size_t largest_block = 0;   // of the compiled code
  size_t bytes = 0;           // of all of it
  bool stays = false;         // SCRIPT LOAD
  // Neighbours among those that do not stay, by their last use.
  Script* older = nullptr;
  Script* newer = nullptr;

  std::string_view name() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return {sha1.data(), sha1.size()}; }
};

// by_sha1_   owns the scripts, finds by the digits of the SHA1     EVALSHA
// by_text_   finds by the whole text, if it is not long            EVAL
// oldest_ ... newest_   a list by last use of those that may go    eviction
//
// Find, Use and a Load of a known text are O(1); a new text costs its compiling and its SHA1.
class ScriptCache {
 public:
  // Some 13,000 scripts of a kilobyte; Redis 7.4 keeps the last 500 of any size. Texts, tables and
  // what Lua took while it compiled are counted.
  static constexpr size_t kEvictableBytesMax = 32UL << 20;

  // `hash_key` is the secret of the tables that find what clients send.
  ScriptCache(CommandPort& port, const SipKey& hash_key)
      : port_(port),
        by_sha1_(0, BySha1(hash_key), BySha1(hash_key)),
        by_text_(0, ByText(hash_key), ByText(hash_key)) {}

  // Null: unknown. `sha1` in hex of any case. The pointer is valid until the next Load or Flush:
  // either may free a script.
  const Script* Find(std::string_view sha1) const;
  // The same, to be run: it counts as used now.
  const Script* Use(std::string_view sha1);
  // The script with that text, compiled if it is new; null: `error` says why not, a fault of its
  // flags before one of its code, as in Redis. `stays`: SCRIPT LOAD. Others that were used longest
  // ago may go for it, so it counts as used now.
  const Script* Load(std::string_view text, bool stays, std::string& error);
  // Forgets all, and the Lua state with them. Nothing may be running.
  void Flush();

  // For INFO: all scripts, and how many EVAL's have been evicted since the statistics were reset.
  size_t size() const { return by_sha1_.size(); }
  size_t evicted() const { return evicted_; }
  void ResetStatistics() { evicted_ = 0; }
  // Counts the texts and the tables that find them; the compiled functions are in lua_bytes().
  size_t text_bytes() const { return text_bytes_; }
  size_t lua_bytes() const { return lua_ ? lua_->memory_bytes() : 0; }
  // Requires: a script has been loaded.
  LuaState& lua() { return *lua_; }

 private:
  using Hex = std::array<uint64_t, 5>;  // the 40 digits of a SHA1, in words
  // Hash and equality of by_sha1_, for scripts and for digits alike: looking up needs no Script.
  struct BySha1 : KeyedHash {
    using KeyedHash::KeyedHash;
    static Hex View(const std::unique_ptr<Script>& script) {
      return std::bit_cast<Hex>(script->sha1);
    }
    static const Hex& View(const Hex& hex) { return hex; }
    size_t operator()(const auto& item) const {
      const Hex& hex = View(item);
      return KeyedHash::operator()({reinterpret_cast<const char*>(hex.data()), sizeof hex});
    }
    bool operator()(const auto& a, const auto& b) const { return View(a) == View(b); }
  };
  // The same of by_text_, for scripts and texts.
  struct ByText : KeyedHash {
    using KeyedHash::KeyedHash;
    static std::string_view View(const Script* script) { return script->text; }
    static std::string_view View(std::string_view text) { return text; }
    size_t operator()(const auto& item) const { return KeyedHash::operator()(View(item)); }
    bool operator()(const auto& a, const auto& b) const { return View(a) == View(b); }
  };

  static bool IsLong(std::string_view text) { return text.size() > 16 * 1024; }
  Script* FindScript(std::string_view sha1) const;
  // In any case, as Redis takes it. What cannot be hex is turned away without a look-up, though not
  // every text that passes is hex: those find nothing.
  Script* FoldAndFind(Hex key) const;
  Script* FindText(std::string_view text, std::string_view sha1) const;
  // Compiles what follows the shebang, and notes the memory it took and its largest block, which
  // decides how often the hook comes while it runs; false: `error` says why not.
  bool Compile(std::string_view code, Script& script, std::string& error);
  // The order of use: a doubly linked list through the scripts, O(1) to use, to evict, to take out.
  void MakeNewest(Script& script);
  void TakeOut(Script& script);
  void Touch(Script& script) {
    if (script.stays || newest_ == &script) return;
    TakeOut(script);
    MakeNewest(script);
  }
  void Keep(Script& script);
  void EvictOldest();

  CommandPort& port_;
  std::unique_ptr<LuaState> lua_;
  size_t text_bytes_ = 0;
  size_t evictable_bytes_ = 0;
  size_t kept_bytes_ = 0;  // of those that stay
  size_t evicted_ = 0;
  Script* oldest_ = nullptr;
  Script* newest_ = nullptr;
  mutable Script* last_ = nullptr;  // found: requests mostly repeat themselves
  absl::flat_hash_set<std::unique_ptr<Script>, BySha1, BySha1> by_sha1_;
  absl::flat_hash_set<Script*, ByText, ByText> by_text_;
};

}  // namespace sluice
