#include "scripting/script_cache.h"

#include <openssl/sha.h>

#include <cstring>
#include <optional>

#include "protocol/concat.h"
#include "scripting/global_writes.h"
#include "scripting/sandbox.h"

namespace sluice {
namespace {

// Sets the bit that tells lower-case letters from upper-case ones, in each byte of a word; digits
// have it too. Bytes with neither it nor the next, which would become digits, are told by their
// lack.
constexpr uint64_t kLowerBits = 0x2020202020202020;

std::array<char, 40> Sha1Hex(std::string_view text) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::array<char, 40> hex;
  for (size_t i = 0; i < SHA_DIGEST_LENGTH; ++i) {
    hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

}  // namespace

const Script* ScriptCache::Find(std::string_view sha1) const {
  Hex key;
  if (sha1.size() != sizeof key) return nullptr;
  std::memcpy(key.data(), sha1.data(), sizeof key);
  bool maybe_hex = true;
  for (uint64_t& word : key) {
    maybe_hex &= ((word | word >> 1) & kLowerBits) == kLowerBits;
    word |= kLowerBits;
  }
  if (!maybe_hex) return nullptr;
  if (last_ && std::bit_cast<Hex>(last_->sha1) == key) [[likely]]
    return last_;
  const auto found = by_sha1_.find(key);
  if (found == by_sha1_.end()) return nullptr;
  return last_ = found->get();
}

const Script* ScriptCache::Load(std::string_view text, std::string& error) {
  if (const auto found = by_text_.find(text); found != by_text_.end()) return *found;
  const std::optional<Shebang> shebang = ReadShebang(text);
  if (!shebang) {
    error = "ERR Invalid script shebang";
    return nullptr;
  }
  const std::optional<uint32_t> flags = ReadScriptFlags(*shebang, error);
  if (!flags) return nullptr;

  if (!lua_) lua_ = std::make_unique<LuaState>(port_, LuaState::Kind::kScripts);
  lua_State* L = lua_->lua();
  // The shebang's line end stays, so that line numbers are those of the text.
  const std::string_view code = text.substr(shebang->bytes);
  if (LoadText(L, code.data(), code.size(), "@user_script") != 0) {
    const char* reason = lua_tostring(L, -1);
    error = Concat("ERR Error compiling script (new function): ", reason ? reason : "");
    lua_pop(L, 1);
    lua_->EndCompiling();
    return nullptr;
  }
  if (!AssignsGlobals(L)) {
    lua_pushvalue(L, LuaState::kGlobals);
    lua_setfenv(L, -2);
  }
  auto script = std::make_unique<Script>();
  script->text = text;
  script->flags = *flags;
  lua_->LiftBound();
  script->function = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_->RestoreBound();
  lua_->EndCompiling();
  script->sha1 = Sha1Hex(text);
  text_bytes_ += sizeof(Script) + text.size() + 48;
  by_text_.insert(script.get());
  return by_sha1_.insert(std::move(script)).first->get();
}

void ScriptCache::Flush() {
  by_text_.clear();
  last_ = nullptr;
  by_sha1_.clear();
  text_bytes_ = 0;
  lua_.reset();
}

}  // namespace sluice
