// Parts: what the server consists of, found by type. A handler is given it with its call and asks
// for the parts that it works with; so a command's row knows none of them, and a new part changes
// no header that all commands read.
//
//   Parts parts;
//   parts.Add(locks);                            // by the root, once
//   call.part<LockService>().Enter();            // in a handler
//
// A part itself never gets it: its constructor names the references that it uses. The type is the
// one that the root had it as: a part that is handed in as an interface (Host) is found as that.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <type_traits>

namespace sluice {

class Parts {
 public:
  template <typename Part>
  void Add(Part& part) {
    assert(Find<Part>() == nullptr);  // added twice
    parts_[NumberOf<Part>()] = &part;
  }
  template <typename Part>
  Part& Get() const {
    Part* const part = Find<Part>();
    assert(part != nullptr);
    return *part;
  }
  // The part, or null: only some servers have it.
  template <typename Part>
  Part* Find() const {
    return static_cast<Part*>(const_cast<void*>(parts_[NumberOf<Part>()]));
  }

 private:
  static constexpr size_t kTypesMax = 96;

  // A type gets the next free number when it is first named, and keeps it.
  template <typename Part>
  static size_t NumberOf() {
    return NumberOfType<std::remove_const_t<Part>>();
  }
  template <typename Type>
  static size_t NumberOfType() {
    static const size_t number = NextNumber();
    return number;
  }
  static size_t NextNumber();  // ends the process where kTypesMax are in use

  std::array<const void*, kTypesMax> parts_{};
};

}  // namespace sluice
