// Choosing some of many at random, each choice as likely as every other.
#pragma once

#include <cstddef>

#include "storage/keyspace/segment_table.h"

namespace sluice {

// Goes along with a walk over `of` elements and takes `count` of them (selection sampling, Knuth's
// algorithm S): ask Take() once for each. O(1) a call; requires: asked at most `of` times. Exactly
// min(count, of) are taken.
class Selection {
 public:
  Selection(size_t count, size_t of, Random& random) : left_(count), of_(of), random_(random) {}

  bool Take() {
    const bool taken = of_ > 0 && random_() % of_ < left_;
    --of_;
    left_ -= taken ? 1 : 0;
    return taken;
  }

 private:
  size_t left_;  // to be taken
  size_t of_;    // to come
  Random& random_;
};

}  // namespace sluice
