// See functions.h. Restore() loads all libraries of a dump beside the present ones and joins them
// only when all fit, so a fault changes nothing.
#include "scripting/functions.h"

#include <algorithm>
#include <span>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "scripting/lua/script_errors.h"
#include "scripting/register_function.h"
#include "scripting/sandbox.h"
#include "scripting/script_flags.h"

namespace sluice {
namespace {

// --- names

// The library's name from the first line, or the error.
// "#!lua name=limits" -> limits
//
// Redis's checks in Redis's order. Only `name` may be said, once; the engine's name is looked at
// last.
std::optional<std::string> ReadLibraryName(std::string_view code, size_t& line_bytes,
                                           std::string& error) {
  if (!code.starts_with("#!")) {
    error = "ERR Missing library metadata";
    return std::nullopt;
  }
  const std::optional<Shebang> shebang = ReadShebang(code);
  if (!shebang || shebang->words.empty()) {
    error = "ERR Invalid library metadata";
    return std::nullopt;
  }
  line_bytes = shebang->bytes;
  std::optional<std::string> name;
  for (const std::string& word : std::span(shebang->words).subspan(1)) {
    if (LowerCase(word).starts_with("name=") && name) {
      error = "ERR Invalid metadata value, name argument was given multiple times";
      return std::nullopt;
    }
    if (!LowerCase(word).starts_with("name=")) {
      error = Concat("ERR Invalid metadata value given: ", word);
      return std::nullopt;
    }
    name = word.substr(5);
  }
  const std::string_view engine = std::string_view(shebang->words[0]).substr(2);
  if (!name) {
    error = "ERR Library name was not given";
  } else if (!IsFunctionName(*name)) {
    error = Concat("ERR ", kBadFunctionName);
    name.reset();
  } else if (LowerCase(engine) != "lua") {
    error = Concat("ERR Engine '", engine, "' not found");
    name.reset();
  }
  return name;
}

// Redis's sentence; the name as it was given.
std::string FunctionExists(std::string_view name) {
  return Concat("ERR Function ", name, " already exists");
}

}  // namespace

// --- loading

const FunctionLibrary* FunctionLibraries::Load(std::string_view code, bool replace,
                                               std::string& error) {
  return LoadInto(current_, code, replace, error);
}

// The library is complete before anything of it is seen: it runs, its functions are compared with
// those that stay, and only then the old one goes and the new one comes.
const FunctionLibrary* FunctionLibraries::LoadInto(LibrarySet& set, std::string_view code,
                                                   bool replace, std::string& error) {
  size_t line_bytes = 0;
  const std::optional<std::string> name = ReadLibraryName(code, line_bytes, error);
  if (!name) return nullptr;
  const auto old = set.libraries.find(*name);
  const bool replaces = old != set.libraries.end();
  if (replaces && !replace) {
    error = Concat("ERR Library '", *name, "' already exists");
    return nullptr;
  }
  const size_t freed = replaces ? old->second->code.size() : 0;
  if (set.text_bytes - freed + code.size() > kLibraryBytesMax) {
    error = "ERR the libraries are as large as they may be: FUNCTION DELETE makes room";
    return nullptr;
  }
  if (!lua_) lua_ = std::make_unique<LuaState>(port_, LuaState::Kind::kFunctions, OpenSandbox);
  auto library = std::make_unique<FunctionLibrary>();
  library->name = *name;
  library->code = code;
  if (Run(code.substr(line_bytes), *library, error)) {
    for (const LibraryFunction& function : library->functions) {
      const auto other = set.by_name.find(LowerCase(function.name));
      if (other == set.by_name.end()) continue;
      // A name that the replaced library gives up is free.
      if (replaces && old->second->Owns(other->second)) continue;
      error = FunctionExists(function.name);
      break;
    }
  }
  if (!error.empty()) {
    Forget(*library);
    return nullptr;
  }
  if (replaces) Remove(set, old);
  const FunctionLibrary* const loaded = library.get();
  Put(set, std::move(library));
  return loaded;
}

bool FunctionLibraries::Run(std::string_view text, FunctionLibrary& library, std::string& error) {
  lua_State* const L = lua_->lua();
  lua_->BeginCompiling();
  if (LoadText(L, text.data(), text.size(), "@user_function") != 0) {
    const char* reason = lua_tostring(L, -1);
    error = Concat("ERR Error compiling function: ", reason ? reason : "");
    lua_pop(L, 1);
    lua_->EndCompiling();
    return false;
  }
  lua_->EndCompiling();
  lua_->BeginRun(0);
  BeginLoading(*lua_, library.functions);
  const bool ran = lua_pcall(L, 0, 0, LuaState::kErrorHandler) == 0;
  lua_->Returned();
  EndLoading(*lua_);
  lua_->LiftBound();
  if (!ran) {
    error = "ERR Error registering functions: ";
    // An error table: its text alone is told.
    if (lua_istable(L, -1)) {
      lua_pushliteral(L, "err");
      lua_rawget(L, -2);
    }
    const char* reason = lua_tostring(L, -1);
    ConcatTo(error, reason ? reason : "unknown error");
  } else if (library.functions.empty()) {
    error = "ERR No functions registered";
  }
  lua_->RestoreBound();
  lua_->EndRun();
  return error.empty();
}

// --- restoring

bool FunctionLibraries::Restore(const FunctionDump& dump, Policy policy, std::string& error) {
  // A set of its own, so that a fault in the last library leaves no trace of the first.
  LibrarySet added;
  for (const std::string& code : dump.codes) {
    if (!LoadInto(added, code, /*replace=*/false, error)) break;
  }
  if (error.empty()) error = dump.error;
  if (!error.empty() || !MayJoin(added, policy, error)) {
    Clear(added);
    return false;
  }
  if (policy == Policy::kFlush) Clear(current_);
  for (auto& [name, library] : added.libraries) {
    const auto old = current_.libraries.find(name);
    if (old != current_.libraries.end()) Remove(current_, old);
  }
  for (auto& [name, library] : added.libraries) Put(current_, std::move(library));
  return true;
}

// Whether all of `added` can stand beside the libraries that stay: neither a library's name is
// taken, nor a function's name by a library that stays.
bool FunctionLibraries::MayJoin(const LibrarySet& added, Policy policy, std::string& error) const {
  if (policy == Policy::kFlush) return true;
  for (const auto& [name, library] : added.libraries) {
    if (policy == Policy::kReplace || !current_.libraries.contains(name)) continue;
    error = Concat("ERR Library ", name, " already exists");
    return false;
  }
  for (const auto& [name, function] : added.by_name) {
    const auto other = current_.by_name.find(name);
    if (other == current_.by_name.end()) continue;
    const bool goes = std::ranges::any_of(added.libraries, [&](const auto& item) {
      const auto old = current_.libraries.find(item.first);
      return old != current_.libraries.end() && old->second->Owns(other->second);
    });
    if (goes) continue;
    error = FunctionExists(function->name);
    return false;
  }
  return true;
}

// --- the set

// Names are indexed by their lower case, and told as they were given.
void FunctionLibraries::Put(LibrarySet& set, std::unique_ptr<FunctionLibrary> library) {
  for (const LibraryFunction& function : library->functions) {
    set.by_name[LowerCase(function.name)] = &function;
  }
  set.text_bytes += library->code.size();
  set.libraries[library->name] = std::move(library);
}

// The index first, as its names are the library's.
void FunctionLibraries::Remove(LibrarySet& set, Libraries::iterator library) {
  for (const LibraryFunction& function : library->second->functions) {
    set.by_name.erase(LowerCase(function.name));
  }
  Forget(*library->second);
  set.text_bytes -= library->second->code.size();
  set.libraries.erase(library);
}

void FunctionLibraries::Clear(LibrarySet& set) {
  while (!set.libraries.empty()) Remove(set, set.libraries.begin());
}

void FunctionLibraries::Forget(const FunctionLibrary& library) {
  lua_->LiftBound();
  for (const LibraryFunction& function : library.functions) {
    luaL_unref(lua_->lua(), LUA_REGISTRYINDEX, function.function);
  }
  lua_->RestoreBound();
}

// --- commands

bool FunctionLibraries::Delete(std::string_view name) {
  const auto found = current_.libraries.find(name);
  if (found == current_.libraries.end()) return false;
  Remove(current_, found);
  return true;
}

void FunctionLibraries::Flush() {
  current_ = {};
  lua_.reset();
}

size_t FunctionLibraries::code_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, library] : current_.libraries) {
    bytes += sizeof(FunctionLibrary) + library->code.size() +
             library->functions.size() * sizeof(LibraryFunction);
  }
  return bytes;
}

const LibraryFunction* FunctionLibraries::Find(std::string_view name) const {
  const auto found = current_.by_name.find(LowerCase(name));
  return found == current_.by_name.end() ? nullptr : found->second;
}

}  // namespace sluice
