// OutputBytes: the bytes that an encoder makes. They begin in the encoder's own frame and move into
// a userdata when they outgrow it, so they are freed whatever happens and count as the script's
// memory. Nothing here has a destructor: an error of Lua may jump over it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "scripting/lua/lua_api.h"
#include "scripting/lua/lua_state.h"

namespace sluice {

// OutputBytes out(L, slot);            at first 1 KiB in this object
// out.Append("abc", 3);                grown: a userdata in `slot`, which the collector frees
// out.PushString();
//
// Append is O(bytes) amortized. Invariant: data_ points into this object or into the userdata in
// slot_.
class OutputBytes {
 public:
  // `slot`, of the stack or an upvalue, holds the userdata while the encoder works.
  OutputBytes(lua_State* L, int slot) : L_(L), slot_(slot) {}
  OutputBytes(const OutputBytes&) = delete;
  OutputBytes& operator=(const OutputBytes&) = delete;

  // Room for `size` more bytes; may raise "not enough memory".
  char* Reserve(size_t size) {
    if (size > capacity_ - size_) [[unlikely]]
      Grow(size);
    return data_ + size_;
  }
  // That many bytes of what was reserved are in use.
  void Commit(size_t size) { size_ += size; }
  void Append(const void* bytes, size_t size) {
    std::memcpy(Reserve(size), bytes, size);
    size_ += size;
  }
  void Byte(char byte) {
    *Reserve(1) = byte;
    ++size_;
  }
  size_t size() const { return size_; }
  // Pushes all bytes as a string and lets go of the userdata.
  void PushString() {
    lua_pushlstring(L_, data_, size_);
    if (data_ == in_place_) return;
    lua_pushnil(L_);
    lua_replace(L_, slot_);
  }

 private:
  // Most messages are shorter, and take no userdata.
  static constexpr size_t kInPlace = 1024;

  // The old userdata is garbage once its slot is taken; until then both are there.
  void Grow(size_t size) {
    // Twice as much, but no more than a quarter beyond what is large already.
    constexpr size_t kLarge = 32UL << 20;
    const size_t needed = size_ + size;
    const size_t capacity = needed + std::min(needed, std::max(kLarge, needed / 4));
    LuaState::Of(L_).MakeRoom(capacity);
    lua_checkstack(L_, 1);  // a slot is there even beyond the limit (EXTRA_STACK)
    char* const larger = static_cast<char*>(lua_newuserdata(L_, capacity));
    std::memcpy(larger, data_, size_);
    lua_replace(L_, slot_);
    data_ = larger;
    capacity_ = capacity;
  }

  lua_State* L_;
  const int slot_;
  char* data_ = in_place_;
  size_t size_ = 0;
  size_t capacity_ = kInPlace;
  char in_place_[kInPlace];
};

}  // namespace sluice
