// A variable of the process's environment; empty where it is not set.
#pragma once

#include <cstdlib>
#include <string_view>

namespace sluice {

// Valid until the variable is changed.
inline std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : std::string_view();
}

}  // namespace sluice
