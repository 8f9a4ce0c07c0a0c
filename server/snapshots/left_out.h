// LeftOut: what a snapshot for Redis does not hold, counted by kind: types and deadlines that only
// Sluice has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct LeftOut {
  uint64_t locks = 0;   // that are held
  uint64_t tokens = 0;  // of locks that were given back
  uint64_t limiters = 0;
  uint64_t buckets = 0;
  uint64_t policies = 0;
  uint64_t ended_keys = 0;
  uint64_t ended_fields = 0;  // of hashes that are there
  uint64_t field_ends = 0;    // deadlines of fields, where they are counted,
  uint64_t timed_hashes = 0;  // and hashes that have such

  // That a client would find on Sluice, and not on Redis.
  uint64_t keys() const { return locks + limiters + buckets; }
};

// What was left out as a whole, kind by kind: "3 locks", "1 limiter".
std::vector<std::string> LeftOutTexts(const LeftOut& left);

}  // namespace sluice
