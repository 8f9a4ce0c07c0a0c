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
#include <cstdint>
#include <type_traits>

namespace sluice {

class Parts {
 public:
  template <typename Part>
  void Add(Part& part) {
    const void* const tag = TagOf<Part>();
    assert(Find<Part>() == nullptr);  // added twice
    ++count_;
    assert(count_ <= kPlaces / 2);  // a search ends at an empty place
    Place* place = &places_[FirstPlace(tag)];
    while (place->tag) place = &places_[After(place)];
    *place = {tag, &part};
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
    const void* const tag = TagOf<Part>();
    const Place* place = &places_[FirstPlace(tag)];
    while (place->tag != tag) {
      if (!place->tag) return nullptr;
      place = &places_[After(place)];
    }
    return static_cast<Part*>(const_cast<void*>(place->part));
  }

 private:
  // A hash table with open addressing. The key is the address of a constant that every type has
  // for itself; they lie side by side, so that its lowest bits are a good hash.
  static constexpr size_t kPlaces = 128;
  struct Place {
    const void* tag = nullptr;
    const void* part = nullptr;
  };
  template <typename Part>
  static constexpr char kTag = 0;

  template <typename Part>
  static const void* TagOf() {
    return &kTag<std::remove_const_t<Part>>;
  }
  static size_t FirstPlace(const void* tag) { return reinterpret_cast<uintptr_t>(tag) % kPlaces; }
  size_t After(const Place* place) const { return (place - places_.data() + 1) % kPlaces; }

  std::array<Place, kPlaces> places_{};
  [[maybe_unused]] size_t count_ = 0;
};

}  // namespace sluice
