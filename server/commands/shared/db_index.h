// The number of a database, as an argument.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/text/number_text.h"
#include "server/cluster/cluster_state.h"
#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

// Takes a 32-bit number as Redis does for database indexes. `fault` is the sentence for what is
// none, or empty for Redis's general ones.
inline int TakeDbNumber(ArgReader& args, std::string_view fault = {}) {
  const std::optional<int64_t> number = ParseInt64(args.Bytes());
  constexpr int64_t kLow = std::numeric_limits<int>::min();
  constexpr int64_t kHigh = std::numeric_limits<int>::max();
  if (number && *number >= kLow && *number <= kHigh) return static_cast<int>(*number);
  if (!fault.empty()) {
    args.Fail(std::string(fault));
  } else if (!number) {
    args.Fail(ErrorCode::kNotInteger);
  } else {
    args.Fail("ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  return 0;
}

// Whether there is one database alone, as clients of a cluster know of no other.
inline bool IsInCluster(const CommandCall& call) { return call.part<ClusterState>().is_on(); }

// There has to be such a database.
inline void ExpectDb(ArgReader& args, const Keyspace& keyspace, int index) {
  if (index < 0 || index >= keyspace.databases()) args.Fail(ErrorCode::kDbIndexOutOfRange);
}

// Both in one: a number that is a 32-bit integer, and a database that exists. 0 after a fault.
inline int TakeDb(ArgReader& args, const Keyspace& keyspace) {
  const int index = TakeDbNumber(args);
  ExpectDb(args, keyspace, index);
  return index;
}

}  // namespace sluice
