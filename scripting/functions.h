// FUNCTION libraries: Lua code that is loaded once and registers functions, which FCALL runs by
// name. All libraries live in one Lua state of their own, made with the first of them; while a
// library is loaded it sees nothing but redis.register_function, redis.log and their constants.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scripting/lua_state.h"

namespace sluice {

struct LibraryFunction {
  std::string name;
  std::optional<std::string> description;
  uint32_t flags = 0;  // ScriptFlag
  int function = 0;    // reference in Lua's registry
};

struct FunctionLibrary {
  std::string name;
  std::string code;
  std::vector<LibraryFunction> functions;
};

class FunctionLibraries {
 public:
  enum class Restore : uint8_t { kAppend, kReplace };
  using Libraries = std::map<std::string, std::unique_ptr<FunctionLibrary>, std::less<>>;

  explicit FunctionLibraries(CommandPort& port) : port_(port) {}

  // The library that was made of `code`; null: `error` holds Redis's sentence.
  const FunctionLibrary* Load(std::string_view code, bool replace, std::string& error);
  bool Delete(std::string_view name);
  void Flush();
  // By name in any case; null: unknown.
  const LibraryFunction* Find(std::string_view name) const;

  const Libraries& all() const { return libraries_; }
  size_t function_count() const { return by_name_.size(); }
  size_t lua_bytes() const { return lua_ ? lua_->memory_bytes() : 0; }
  // Precondition: a library has been loaded.
  LuaState& lua() { return *lua_; }

 private:
  bool Run(std::string_view text, FunctionLibrary& library, std::string& error);
  bool NamesAreFree(const FunctionLibrary& library, const FunctionLibrary* replaced,
                    std::string& error) const;
  void Forget(const FunctionLibrary& library);

  CommandPort& port_;
  std::unique_ptr<LuaState> lua_;
  Libraries libraries_;
  std::map<std::string, const LibraryFunction*, std::less<>> by_name_;  // lower case
};

}  // namespace sluice
