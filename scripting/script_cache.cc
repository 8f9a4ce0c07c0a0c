#include "scripting/script_cache.h"

#include <openssl/sha.h>

#include <cstring>
#include <optional>

#include "protocol/concat.h"
#include "scripting/sandbox.h"

namespace sluice {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// 40 hex digits as 20 bytes; false when they are none.
bool ReadHex(std::string_view hex, unsigned char* bytes) {
  if (hex.size() != 2 * SHA_DIGEST_LENGTH) return false;
  int bad = 0;
  for (size_t i = 0; i < SHA_DIGEST_LENGTH; ++i) {
    const int high = HexValue(hex[2 * i]), low = HexValue(hex[2 * i + 1]);
    bad |= high | low;
    bytes[i] = static_cast<unsigned char>((high << 4) | (low & 15));
  }
  return bad >= 0;
}

void WriteHex(const unsigned char* bytes, std::array<char, 40>& hex) {
  for (size_t i = 0; i < SHA_DIGEST_LENGTH; ++i) {
    hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
}

}  // namespace

const Script* ScriptCache::Find(std::string_view sha1) const {
  Sha1 key{};
  if (!ReadHex(sha1, reinterpret_cast<unsigned char*>(key.data()))) return nullptr;
  const auto found = by_sha1_.find(key);
  return found == by_sha1_.end() ? nullptr : found->second.get();
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
    return nullptr;
  }
  auto script = std::make_unique<Script>();
  script->text = text;
  script->flags = *flags;
  lua_->LiftBound();
  script->function = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_->RestoreBound();
  Sha1 key{};
  auto* const digest = reinterpret_cast<unsigned char*>(key.data());
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  WriteHex(digest, script->sha1);
  text_bytes_ += sizeof(Script) + text.size() + 48;
  by_text_.insert(script.get());
  return (by_sha1_[key] = std::move(script)).get();
}

void ScriptCache::Flush() {
  by_text_.clear();
  by_sha1_.clear();
  text_bytes_ = 0;
  lua_.reset();
}

}  // namespace sluice
