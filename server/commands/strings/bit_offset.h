// The offset argument of the commands that address single bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/dispatch/command.h"

namespace sluice {

// A bit number below 8 x proto-max-bulk-len. With `field_bits` > 0 also "#n", the n-th field of
// that width. Null for anything else (ErrorCode::kBitOffset).
std::optional<uint64_t> ReadBitOffset(const CommandCall& call, std::string_view text,
                                      int field_bits = 0);

}  // namespace sluice
