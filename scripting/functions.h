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

#include "scripting/function_dump.h"
#include "scripting/library_function.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

// Functions keep their addresses as long as the library lives: by_name points at them.
struct FunctionLibrary {
  std::string name;
  std::string code;
  std::vector<LibraryFunction> functions;

  // By address: functions lie in one vector.
  bool Owns(const LibraryFunction* function) const {
    return !functions.empty() && function >= &functions.front() && function <= &functions.back();
  }
};

// FUNCTION LOAD "#!lua name=limits ..."     -> Load: read the name, compile, run, register
// FCALL take 1 key 10                       -> Find("take"), then RunScript with its reference
// FUNCTION DELETE limits                    -> Delete: out of both maps, references given back
//
// Load and Restore cost what the code does while it runs, bounded by LuaState::kLoadingHooksMax.
// Find is O(log n).
class FunctionLibraries {
 public:
  // FUNCTION RESTORE's policy: names that are taken are a fault, or are replaced, or all libraries
  // are flushed first.
  enum class Policy : uint8_t { kAppend, kReplace, kFlush };
  using Libraries = std::map<std::string, std::unique_ptr<FunctionLibrary>, std::less<>>;

  explicit FunctionLibraries(CommandPort& port) : port_(port) {}

  // The library that was made of `code`; null: `error` holds Redis's sentence.
  const FunctionLibrary* Load(std::string_view code, bool replace, std::string& error);
  // All libraries of a payload or, when false, none: `error` holds Redis's sentence.
  bool Restore(const FunctionDump& dump, Policy policy, std::string& error);
  // False when there is none of that name.
  bool Delete(std::string_view name);
  // FUNCTION FLUSH: drops all libraries, and the Lua state with them. Nothing may be running.
  void Flush();
  // By name in any case; null: unknown. Valid until the next Load, Restore, Delete or Flush.
  const LibraryFunction* Find(std::string_view name) const;

  const Libraries& all() const { return current_.libraries; }
  size_t function_count() const { return current_.by_name.size(); }
  // Counts the libraries' texts and the tables that find them, in O(libraries); the compiled
  // functions are in lua_bytes().
  size_t code_bytes() const;
  size_t lua_bytes() const { return lua_ ? lua_->memory_bytes() : 0; }
  // Requires: a library has been loaded.
  LuaState& lua() { return *lua_; }

 private:
  // A set of libraries with the index of their functions: the present one, or one that is being
  // restored.
  struct LibrarySet {
    Libraries libraries;
    std::map<std::string, const LibraryFunction*, std::less<>> by_name;  // lower case
    size_t text_bytes = 0;                                               // at most kLibraryBytesMax
  };

  const FunctionLibrary* LoadInto(LibrarySet& set, std::string_view code, bool replace,
                                  std::string& error);
  // Compiles and runs the code below the first line, which registers its functions; false: `error`
  // says why.
  bool Run(std::string_view text, FunctionLibrary& library, std::string& error);
  bool MayJoin(const LibrarySet& added, Policy policy, std::string& error) const;
  void Put(LibrarySet& set, std::unique_ptr<FunctionLibrary> library);
  void Remove(LibrarySet& set, Libraries::iterator library);
  void Clear(LibrarySet& set);
  // Gives the functions' references in Lua's registry back; Lua's collector frees them in its next
  // cycle.
  void Forget(const FunctionLibrary& library);

  CommandPort& port_;
  std::unique_ptr<LuaState> lua_;
  LibrarySet current_;
};

}  // namespace sluice
