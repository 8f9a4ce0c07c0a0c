// The arguments of a request: views into the bytes that a client sent, command name first. They
// live until the handler returns; a handler that keeps one longer copies it.
#pragma once

#include <span>
#include <string_view>

namespace sluice {

// Cheap to copy: pass it by value.
using Args = std::span<const std::string_view>;

}  // namespace sluice
