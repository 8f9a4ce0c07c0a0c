// See script_cache.h. A script is found by its SHA-1 in hex, in either case, by every EVALSHA: the
// script that was used last is tried before the table, in which it is found by its digits in lower
// case. Digits are compared and folded as five words.
#include "scripting/script_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "scripting/sandbox.h"
#include "storage/hashing/sha.h"

namespace sluice {
namespace {

// In each byte of a word, the bit that lower-case letters have and upper-case ones lack; digits
// have it too. Setting it makes hex digits lower-case. It would also make digits of the control
// characters 0x10 to 0x19; those have neither this bit nor the next higher one, and are refused.
constexpr uint64_t kLowerBits = 0x2020202020202020;
// A script's share of the tables that find it.
constexpr size_t kTableBytes = 48;
constexpr std::string_view kFull =
    "ERR the scripts of SCRIPT LOAD take as much memory as they may: SCRIPT FLUSH forgets them";

std::array<char, 40> Sha1Hex(std::string_view text) {
  const auto digest = Sha1(text);
  std::array<char, 40> hex;
  for (size_t i = 0; i < digest.size(); ++i) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

}  // namespace

// --- finding

const Script* ScriptCache::Find(std::string_view sha1) const { return FindScript(sha1); }

const Script* ScriptCache::Use(std::string_view sha1) {
  Script* const script = FindScript(sha1);
  if (script) Touch(*script);
  return script;
}

Script* ScriptCache::FindScript(std::string_view sha1) const {
  Hex key;
  if (sha1.size() != sizeof key) return nullptr;
  std::memcpy(key.data(), sha1.data(), sizeof key);
  // A client mostly calls the same script again, and most spell it as it is kept.
  if (last_ && std::bit_cast<Hex>(last_->sha1) == key) [[likely]]
    return last_;
  return FoldAndFind(key);
}

Script* ScriptCache::FoldAndFind(Hex key) const {
  bool maybe_hex = true;
  for (uint64_t& word : key) {
    maybe_hex &= ((word | word >> 1) & kLowerBits) == kLowerBits;
    word |= kLowerBits;
  }
  if (!maybe_hex) return nullptr;
  const auto found = by_sha1_.find(key);
  if (found == by_sha1_.end()) return nullptr;
  return last_ = found->get();
}

// `sha1`: of a long text.
Script* ScriptCache::FindText(std::string_view text, std::string_view sha1) const {
  if (IsLong(text)) return FindScript(sha1);
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? nullptr : *found;
}

// --- loading

const Script* ScriptCache::Load(std::string_view text, bool stays, std::string& error) {
  // Known texts first: short ones need no SHA1.
  std::array<char, 40> sha1{};
  if (IsLong(text)) sha1 = Sha1Hex(text);
  if (Script* const found = FindText(text, {sha1.data(), sha1.size()})) {
    if (stays && !found->stays && kept_bytes_ + found->bytes > kKeptScriptBytesMax) {
      error = kFull;
      return nullptr;
    }
    stays ? Keep(*found) : Touch(*found);
    return found;
  }
  const std::optional<Shebang> shebang = ReadShebang(text);
  if (!shebang) {
    error = "ERR Invalid script shebang";
    return nullptr;
  }
  const std::optional<uint32_t> flags = ReadScriptFlags(*shebang, error);
  if (!flags) return nullptr;
  if (stays && kept_bytes_ + text.size() > kKeptScriptBytesMax) {
    error = kFull;
    return nullptr;
  }

  if (!lua_) lua_ = std::make_unique<LuaState>(port_, LuaState::Kind::kScripts, OpenSandbox);
  auto made = std::make_unique<Script>();
  Script& script = *made;
  // The shebang's line end stays, so that line numbers are those of the text.
  if (!Compile(text.substr(shebang->bytes), script, error)) return nullptr;
  script.text = text;
  script.flags = *flags;
  script.sha1 = IsLong(text) ? sha1 : Sha1Hex(text);
  script.bytes += sizeof(Script) + text.size() + kTableBytes;
  text_bytes_ += sizeof(Script) + text.size() + kTableBytes;
  stays ? Keep(script) : MakeNewest(script);
  if (!IsLong(text)) by_text_.insert(&script);
  by_sha1_.insert(std::move(made));
  while (evictable_bytes_ > kEvictableBytesMax && oldest_ != &script) EvictOldest();
  return &script;
}

bool ScriptCache::Compile(std::string_view code, Script& script, std::string& error) {
  lua_State* const L = lua_->lua();
  lua_->TakeLargestBlock();
  lua_->BeginCompiling();
  size_t before = lua_->memory_bytes();
  int status = LoadText(L, code.data(), code.size(), "@user_script");
  // Nothing that can go stands in the way of a script.
  if (status == LUA_ERRMEM && oldest_) {
    lua_pop(L, 1);
    while (oldest_) EvictOldest();
    lua_gc(L, LUA_GCCOLLECT, 0);
    before = lua_->memory_bytes();
    status = LoadText(L, code.data(), code.size(), "@user_script");
  }
  script.bytes = lua_->memory_bytes() - std::min(before, lua_->memory_bytes());
  script.largest_block = lua_->TakeLargestBlock();
  lua_->LiftBound();
  if (status != 0) {
    const char* reason = lua_tostring(L, -1);
    error = Concat("ERR Error compiling script (new function): ", reason ? reason : "");
    lua_pop(L, 1);
  } else {
    script.function = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_->RestoreBound();
  lua_->EndCompiling();
  return status == 0;
}

// --- those that may go, by their last use

void ScriptCache::MakeNewest(Script& script) {
  script.older = newest_;
  script.newer = nullptr;
  (newest_ ? newest_->newer : oldest_) = &script;
  newest_ = &script;
  evictable_bytes_ += script.bytes;
}

// Each end of the list is a neighbour as any other: the conditional picks which link is mended.
void ScriptCache::TakeOut(Script& script) {
  (script.older ? script.older->newer : oldest_) = script.newer;
  (script.newer ? script.newer->older : newest_) = script.older;
  evictable_bytes_ -= script.bytes;
}

// SCRIPT LOAD, also of what EVAL has sent before: it is not, or no longer, in the list of those
// that are evicted.
void ScriptCache::Keep(Script& script) {
  if (script.stays) return;
  if (script.older || script.newer || oldest_ == &script) TakeOut(script);
  script.stays = true;
  kept_bytes_ += script.bytes;
}

// Out of the list, of Lua's registry and of both tables; the function itself goes with Lua's next
// cycle.
void ScriptCache::EvictOldest() {
  Script& script = *oldest_;
  TakeOut(script);
  lua_->LiftBound();
  luaL_unref(lua_->lua(), LUA_REGISTRYINDEX, script.function);
  lua_->RestoreBound();
  text_bytes_ -= sizeof(Script) + script.text.size() + kTableBytes;
  if (last_ == &script) last_ = nullptr;
  ++evicted_;
  if (!IsLong(script.text)) by_text_.erase(&script);
  by_sha1_.erase(std::bit_cast<Hex>(script.sha1));
}

void ScriptCache::Flush() {
  // The tables that point go before the one that owns.
  by_text_.clear();
  last_ = oldest_ = newest_ = nullptr;
  by_sha1_.clear();
  text_bytes_ = evictable_bytes_ = kept_bytes_ = 0;
  lua_.reset();
}

}  // namespace sluice
