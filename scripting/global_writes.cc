#include "scripting/global_writes.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice {
namespace {

// Lua 5.1's precompiled form, as ldump.c writes it on this machine.
constexpr size_t kHeaderBytes = 12;
constexpr uint32_t kOpcodeMask = 63;  // lopcodes.h: the lowest six bits of an instruction
constexpr uint32_t kSetGlobal = 7;    // OP_SETGLOBAL

class Bytecode {
 public:
  explicit Bytecode(std::string_view dump) : rest_(dump) { Skip(kHeaderBytes); }

  bool AssignsGlobals() { return FunctionAssigns() || !ok_; }

 private:
  bool FunctionAssigns() {
    SkipString();           // the source
    Skip(2 * sizeof(int));  // its lines
    Skip(4);                // upvalues, parameters, varargs, stack
    for (int left = Count(); left > 0 && ok_; --left) {
      if ((Take<uint32_t>() & kOpcodeMask) == kSetGlobal) return true;
    }
    for (int left = Count(); left > 0 && ok_; --left) SkipConstant();
    for (int left = Count(); left > 0 && ok_; --left) {
      if (FunctionAssigns()) return true;
    }
    SkipDebug();
    return false;
  }

  void SkipConstant() {
    switch (Take<uint8_t>()) {
      case LUA_TNIL:
        return;
      case LUA_TBOOLEAN:
        return Skip(1);
      case LUA_TNUMBER:
        return Skip(sizeof(lua_Number));
      case LUA_TSTRING:
        return SkipString();
      default:
        ok_ = false;
    }
  }

  void SkipDebug() {
    for (int left = Count(); left > 0 && ok_; --left) Skip(sizeof(int));  // lines
    for (int left = Count(); left > 0 && ok_; --left) {                   // local variables
      SkipString();
      Skip(2 * sizeof(int));
    }
    for (int left = Count(); left > 0 && ok_; --left) SkipString();  // upvalues
  }

  void SkipString() { Skip(Take<size_t>()); }
  int Count() { return Take<int>(); }

  template <class T>
  T Take() {
    T value{};
    if (rest_.size() >= sizeof value) std::memcpy(&value, rest_.data(), sizeof value);
    Skip(sizeof value);
    return value;
  }
  void Skip(size_t bytes) {
    ok_ &= bytes <= rest_.size();
    rest_.remove_prefix(ok_ ? bytes : rest_.size());
  }

  std::string_view rest_;
  bool ok_ = true;
};

int Append(lua_State*, const void* piece, size_t bytes, void* dump) {
  static_cast<std::string*>(dump)->append(static_cast<const char*>(piece), bytes);
  return 0;
}

}  // namespace

bool AssignsGlobals(lua_State* L) {
  std::string dump;
  return lua_dump(L, Append, &dump) != 0 || Bytecode(dump).AssignsGlobals();
}

}  // namespace sluice
