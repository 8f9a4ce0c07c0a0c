// The code that abseil's hash tables leave to their library, once more, for libsluice.so: the
// archive that Debian has of it keeps a counter in the thread's own storage in a way that only
// programs may. It is small, and of this release of abseil: with another one that one's own library
// is linked.
//
// Rules are abseil's: raw_hash_set.cc.
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "absl/base/config.h"
#include "absl/container/internal/raw_hash_set.h"

#if ABSL_LTS_RELEASE_VERSION == 20220623

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace container_internal {

// An empty table is this group: every look-up in it ends at once.
alignas(16) ABSL_CONST_INIT ABSL_DLL const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

// Entropy for builds with assertions alone; the table's address is enough of it here.
bool ShouldInsertBackwards(size_t hash, const ctrl_t* ctrl) { return H1(hash, ctrl) % 13 > 6; }

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  assert(ctrl[capacity] == ctrl_t::kSentinel);
  assert(IsValidCapacity(capacity));
  for (ctrl_t* at = ctrl; at < ctrl + capacity; at += Group::kWidth) {
    Group{at}.ConvertSpecialToEmptyAndFullToDeleted(at);
  }
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

// A table of 2^60 slots and more: there is no memory for it.
void HashTableSizeOverflow() { std::abort(); }

template FindInfo find_first_non_full(const ctrl_t*, size_t, size_t);

}  // namespace container_internal
ABSL_NAMESPACE_END
}  // namespace absl

#endif
