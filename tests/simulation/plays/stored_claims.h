// A play of clients of a consensus store (store.h): they claim names in it, keep and drop their
// claims, write and read values, and watch; connections break, the store has no leader now and
// then, and answers are late, lost or not known.
//
// Judged: claims, as locks whose tokens are the store's revisions, and values, as registers, by the
// judges and by the search; watchers hear of every change that was answered, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/simulation/cluster/store.h"

namespace sluice::cluster {

struct StoredSums {
  size_t operations = 0;
  size_t grants = 0;
  size_t unknown = 0;   // operations without an answer
  size_t searched = 0;  // histories of one key
  size_t too_much = 0;  // of them those that were too much for the search
  size_t found_by_search = 0;
  size_t heard = 0;   // changes
  size_t behind = 0;  // of them those that were answered so long before that their watcher lagged
};

// What the judges have found; null: nothing is wrong.
std::optional<std::string> PlayStoredClaims(uint64_t seed, Store::Fault fault, StoredSums& sums);

}  // namespace sluice::cluster
