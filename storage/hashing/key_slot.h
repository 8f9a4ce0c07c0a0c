// The slot of a key in a cluster: CRC-16 of the key, or of its hash tag, in 14 bits. Clients of a
// cluster compute the same, so that they know which server to ask:
//
//   foo            12182
//   {user1}.cart   that of user1: the bytes between the first { and the first } behind it
//   {}foo, {foo    of all bytes, as there is nothing between, or no end
//
// The polynomial is 0x1021 without reflection and with 0 as the first remainder: CRC-16/XMODEM of
// the catalogue of parametrised CRC algorithms, as the Redis cluster specification asks for.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

using KeySlot = uint16_t;
inline constexpr int kKeySlots = 16384;

// O(bytes of the key). By carry-less multiplication where the processor has one: a key of 16 bytes
// takes 60 instructions, by the table 120.
KeySlot SlotOfKey(std::string_view key);
// The same on any processor.
KeySlot SlotOfKeyByTable(std::string_view key);

}  // namespace sluice
