#include "scripting/functions.h"

#include <algorithm>

#include "protocol/concat.h"
#include "scripting/register_function.h"
#include "scripting/sandbox.h"
#include "scripting/script_errors.h"
#include "scripting/script_flags.h"

namespace sluice {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

// The library's name from the first line, or the error.
std::optional<std::string_view> ReadLibraryName(std::string_view code, size_t& line_bytes,
                                                std::string& error) {
  if (!code.starts_with("#!")) {
    error = "ERR Missing library metadata";
    return std::nullopt;
  }
  const std::optional<Shebang> shebang = ReadShebang(code);
  if (!shebang) {
    error = "ERR Invalid library metadata";
    return std::nullopt;
  }
  line_bytes = shebang->bytes;
  std::optional<std::string_view> name;
  for (const std::string_view option : shebang->options) {
    if (!option.starts_with("name=")) {
      error = Concat("ERR Invalid metadata value given: ", option);
      return std::nullopt;
    }
    if (name) {
      error = "ERR Invalid metadata value, name argument was given multiple times";
      return std::nullopt;
    }
    name = option.substr(5);
  }
  if (!name) {
    error = "ERR Library name was not given";
  } else if (!IsFunctionName(*name)) {
    error = Concat("ERR ", kBadFunctionName);
    name.reset();
  } else if (const std::string_view engine = shebang->engine.substr(2);
             LowerCase(engine) != "lua") {
    error = Concat("ERR Engine '", engine, "' not found");
    name.reset();
  }
  return name;
}

}  // namespace

const FunctionLibrary* FunctionLibraries::Load(std::string_view code, bool replace,
                                               std::string& error) {
  size_t line_bytes = 0;
  const std::optional<std::string_view> name = ReadLibraryName(code, line_bytes, error);
  if (!name) return nullptr;
  const auto old = libraries_.find(*name);
  if (old != libraries_.end() && !replace) {
    error = Concat("ERR Library '", *name, "' already exists");
    return nullptr;
  }
  if (!lua_) lua_ = std::make_unique<LuaState>(port_, LuaState::Kind::kFunctions);
  auto library = std::make_unique<FunctionLibrary>();
  library->name = *name;
  library->code = code;
  const FunctionLibrary* const replaced = old == libraries_.end() ? nullptr : old->second.get();
  if (!Run(code.substr(line_bytes), *library, error) || !NamesAreFree(*library, replaced, error)) {
    Forget(*library);
    return nullptr;
  }
  if (replaced) Delete(*name);
  for (const LibraryFunction& function : library->functions) {
    by_name_[LowerCase(function.name)] = &function;
  }
  return (libraries_[library->name] = std::move(library)).get();
}

// Compiles and runs a library's code, which registers its functions.
bool FunctionLibraries::Run(std::string_view text, FunctionLibrary& library, std::string& error) {
  lua_State* const L = lua_->lua();
  if (LoadText(L, text.data(), text.size(), "@user_function") != 0) {
    const char* reason = lua_tostring(L, -1);
    error = Concat("ERR Error compiling function: ", reason ? reason : "");
    lua_pop(L, 1);
    return false;
  }
  lua_->BeginRun();
  BeginLoading(*lua_, library.functions);
  const bool ran = lua_pcall(L, 0, 0, LuaState::kErrorHandler) == 0;
  EndLoading(*lua_);
  lua_->LiftBound();
  if (!ran) {
    error = "ERR Error registering functions: ";
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

bool FunctionLibraries::NamesAreFree(const FunctionLibrary& library,
                                     const FunctionLibrary* replaced, std::string& error) const {
  for (const LibraryFunction& function : library.functions) {
    const LibraryFunction* const other = Find(function.name);
    if (!other) continue;
    const auto is_other = [other](const LibraryFunction& mine) { return &mine == other; };
    if (replaced && std::ranges::any_of(replaced->functions, is_other)) continue;
    error = Concat("ERR Function ", function.name, " already exists");
    return false;
  }
  return true;
}

void FunctionLibraries::Forget(const FunctionLibrary& library) {
  for (const LibraryFunction& function : library.functions) {
    luaL_unref(lua_->lua(), LUA_REGISTRYINDEX, function.function);
  }
}

bool FunctionLibraries::Delete(std::string_view name) {
  const auto found = libraries_.find(name);
  if (found == libraries_.end()) return false;
  for (const LibraryFunction& function : found->second->functions) {
    by_name_.erase(LowerCase(function.name));
  }
  Forget(*found->second);
  libraries_.erase(found);
  return true;
}

void FunctionLibraries::Flush() {
  by_name_.clear();
  libraries_.clear();
  lua_.reset();
}

const LibraryFunction* FunctionLibraries::Find(std::string_view name) const {
  const auto found = by_name_.find(LowerCase(name));
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace sluice
