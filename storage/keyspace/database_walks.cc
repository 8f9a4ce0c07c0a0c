// All keys of a Database: counts, pages of SCAN, samples.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "storage/hashing/random.h"
#include "storage/keyspace/database.h"

namespace sluice {

size_t Database::size() const { return table_.size(); }

size_t Database::volatile_size() const { return volatile_; }

int64_t Database::MeanTtlMs(const Now& now) const {
  constexpr size_t kSampleMin = 2'000;
  constexpr size_t kPage = 100;
  if (volatile_ == 0) return 0;
  __int128 sum_ms = 0;
  int64_t count = 0;
  size_t seen = 0;
  uint64_t cursor = 0;
  do {
    cursor = Scan(cursor, kPage, [&](const Entry& entry) {
      ++seen;
      if (!entry.is_volatile()) return;
      sum_ms += std::max<int64_t>(entry.deadline().LeftMs(now), 0);
      ++count;
    });
  } while (cursor != 0 && seen < kSampleMin);
  return count == 0 ? 0 : static_cast<int64_t>(sum_ms / count);
}

void Database::ForEach(absl::FunctionRef<void(const Entry&)> visit) const {
  table_.ForEach([visit](Entry& entry) { visit(entry); });
}

uint64_t Database::Scan(uint64_t cursor, size_t count,
                        absl::FunctionRef<void(const Entry&)> visit) const {
  return table_.Scan(cursor, count, visit, &state_.scan_cache);
}

const Entry* Database::RandomEntry(Random& random) const { return table_.RandomEntry(random); }

}  // namespace sluice
