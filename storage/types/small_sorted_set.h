// A sorted set of a few short members: name, score, name, score ... in one StringPack, in order.
//
// A whole score is kept as its decimal, which a pack makes an integer of: a million takes four
// bytes, the milliseconds of today take seven. Any other is an 'f' and those bytes of the double,
// the highest first, that are not zero at its end. -0 is kept as 0, as Redis's listpack has it.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "storage/types/score_range.h"
#include "storage/types/string_pack.h"

namespace sluice {

// All O(n), of 128 members by default.
class SmallSortedSet {
 public:
  static constexpr size_t kElementRoom = 32;  // beside its name
  using Place = StringPack::Position;         // of an element; valid until the next change

  size_t size() const { return pack_.size() / 2; }
  size_t heap_bytes() const { return pack_.MemoryBytes(); }
  bool HasRoom(size_t name_bytes) const { return pack_.HasRoom(name_bytes + kScoreBytesMax + 1); }

  Place end() const { return pack_.end(); }
  Place Find(std::string_view name) const { return pack_.Find(name, 0, 2); }  // end(): none
  double ScoreAt(Place place) const;                                          // not of the end
  size_t RankOf(Place place) const;
  RankRange Between(const ScoreRange& range) const;
  RankRange Between(const LexRange& range) const;
  // The elements of these ranks, upwards or downwards, until `visit` says no.
  void ForEach(RankRange range, bool downwards,
               absl::FunctionRef<bool(std::string_view name, double score)> visit) const;

  void Insert(std::string_view name, double score);  // requires: not there; HasRoom
  // Requires: as Insert; and it belongs behind all others.
  void Append(std::string_view name, double score);
  void Erase(Place place) { pack_.Erase(place, 2); }
  void Erase(RankRange range) { pack_.Erase(pack_.Nth(2 * range.first), 2 * range.size()); }

  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  static constexpr size_t kScoreBytesMax = 1 + sizeof(double);

  // The first rank, from `from` on, for whose element `holds(place)` does not hold.
  template <typename Holds>
  size_t SkipWhile(size_t from, const Holds& holds) const;

  StringPack pack_;
};

}  // namespace sluice
