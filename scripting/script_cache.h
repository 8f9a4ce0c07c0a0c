// ScriptCache: scripts by the SHA1 of their text, compiled once, in one Lua state that is made with
// the first of them. A text that was seen before is found by itself, without its SHA1 being
// computed again.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "scripting/lua_state.h"
#include "scripting/script_flags.h"

namespace sluice {

struct Script {
  std::string text;
  std::array<char, 40> sha1;  // lower-case hex
  uint32_t flags = 0;         // ScriptFlag
  int function = 0;           // reference in Lua's registry

  std::string_view name() const { return {sha1.data(), sha1.size()}; }
};

class ScriptCache {
 public:
  explicit ScriptCache(CommandPort& port) : port_(port) {}

  // Null: unknown. `sha1` in hex of any case.
  const Script* Find(std::string_view sha1) const;
  // The script with that text, compiled if it is new; null: `error` says why not.
  const Script* Load(std::string_view text, std::string& error);
  // Forgets all, and the Lua state with them. Nothing may be running.
  void Flush();

  size_t size() const { return by_sha1_.size(); }
  // Of the texts and what finds them; the compiled functions are in lua_bytes().
  size_t text_bytes() const { return text_bytes_; }
  size_t lua_bytes() const { return lua_ ? lua_->memory_bytes() : 0; }
  // Precondition: a script has been loaded.
  LuaState& lua() { return *lua_; }

 private:
  using Hex = std::array<uint64_t, 5>;  // the 40 digits of a SHA1, in words
  struct BySha1 {
    using is_transparent = void;
    static Hex View(const std::unique_ptr<Script>& script) {
      return std::bit_cast<Hex>(script->sha1);
    }
    static const Hex& View(const Hex& hex) { return hex; }
    size_t operator()(const auto& item) const {
      const Hex& hex = View(item);
      return absl::HashOf(hex[0], hex[1]);
    }
    bool operator()(const auto& a, const auto& b) const { return View(a) == View(b); }
  };
  struct ByText {
    using is_transparent = void;
    static absl::string_view View(const Script* script) {
      return {script->text.data(), script->text.size()};
    }
    static absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
    size_t operator()(const auto& item) const { return absl::HashOf(View(item)); }
    bool operator()(const auto& a, const auto& b) const { return View(a) == View(b); }
  };

  CommandPort& port_;
  std::unique_ptr<LuaState> lua_;
  size_t text_bytes_ = 0;
  mutable const Script* last_ = nullptr;  // found: requests mostly repeat themselves
  absl::flat_hash_set<std::unique_ptr<Script>, BySha1, BySha1> by_sha1_;
  absl::flat_hash_set<const Script*, ByText, ByText> by_text_;
};

}  // namespace sluice
