// Search: which names of a walk are wanted, and when the walk has to pause: what an answer looks at
// is bounded by time, so that it is one short piece between two turns.
//
//   Search search(clock, "door:*");
//   do { ... if (search.Wants(name)) ... } while (more && !search.IsOver());
//
// A walk may have to look at some more names when it is over (the rest of a segment). A glob is not
// tried on those, nor on very long ones; they are counted, and the page tells of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/text/glob.h"
#include "storage/time/clock.h"

namespace sluice {

class Search {
 public:
  static constexpr int64_t kNanosMax = 250'000;
  // With the longest glob of the worst kind some 0.1 ms.
  static constexpr size_t kMatchedBytesMax = 1024;

  Search(Clock& clock, std::string_view pattern)
      : clock_(clock),
        begun_ns_(clock.TickNanos()),
        takes_all_(pattern.empty() || pattern == "*"),
        glob_(pattern) {}

  bool IsOver() const { return clock_.TickNanos() - begun_ns_ > kNanosMax; }
  bool Wants(std::string_view name) {
    if (takes_all_) return true;
    if (name.size() > kMatchedBytesMax || IsOver()) {
      ++passed_over_;
      return false;
    }
    return glob_.Matches(name);
  }
  // One that was wanted, and for which there was no room.
  void PassOver() { ++passed_over_; }
  size_t passed_over() const { return passed_over_; }

 private:
  Clock& clock_;
  const int64_t begun_ns_;
  const bool takes_all_;
  const Glob glob_;
  size_t passed_over_ = 0;
};

}  // namespace sluice
