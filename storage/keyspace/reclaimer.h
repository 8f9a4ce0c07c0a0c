// Reclaimer: frees values that are out of use, so that no turn stalls on one with a million members
// or on half a gigabyte of text. Small ones are freed as they come, big ones a slice a turn. A
// value that still waits counts as used memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "storage/keyspace/value.h"
#include "storage/memory/text_block.h"

namespace sluice {

// Take is O(1) for what is large and at most kAtOnceMax pieces for what is not; Free is O(budget).
class Reclaimer {
 public:
  // Values of at most this many pieces are freed at once.
  static constexpr size_t kAtOnceMax = 64;
  // Texts likewise. The system takes pages back at some 60 us a MiB.
  static constexpr size_t kTextAtOnceMax = 8 << 20;

  // `memory` is what the values are accounted in; it outlives this.
  explicit Reclaimer(size_t& memory) : memory_(memory) {}
  Reclaimer(const Reclaimer&) = delete;
  ~Reclaimer() { Free(SIZE_MAX); }

  // `accounted`: what of the value is contained in `memory`.
  void Take(std::unique_ptr<Value> value, size_t accounted);
  void Take(std::unique_ptr<TextBlock> text, size_t accounted);
  // Frees up to `budget` pieces; returns how many.
  size_t Free(size_t budget);
  bool empty() const { return waiting_.empty(); }
  size_t waiting() const { return waiting_.size(); }
  size_t accounted() const;  // of all that wait, recounted

 private:
  struct Waiting {
    std::unique_ptr<Value> value;
    size_t accounted;
  };

  size_t& memory_;
  std::vector<Waiting> waiting_;  // the last one is being freed
};

}  // namespace sluice
