// LibraryFunction: a function that a library has registered with redis.register_function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

// A plain record; Lua keeps the function itself alive under the reference.
struct LibraryFunction {
  std::string name;
  // Shown by FUNCTION LIST, and nothing else.
  std::optional<std::string> description;
  uint32_t flags = 0;  // ScriptFlag
  int function = 0;    // reference in Lua's registry
};

}  // namespace sluice
