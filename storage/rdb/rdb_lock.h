// Locks in RDB form, as module values (rdb_module.h). Moments are Unix times in ms, signed; all
// other numbers are unsigned. A lease that is over by the time it is written is left out.
//
//   sluicelck, version 3: newest token | mode | permits of | count | holder ...
//     holder:  token | owner | label | permits | holds | session (0 1) | leased (0 1) [until]
//              | kept (0 1) [until] | held since | length of its lease, 0: it has none
//
// A large lock is written in pieces. How many of its leases are over is not known at the start, so
// there is a second form, without the count, and with the newest token whatever is left of it:
//
//   sluicelck, version 4: newest token | mode | permits of | (1 | holder) ... | 0
//
// Versions 1 and 2 are the same with holders that end behind `kept`. Since when one is held is then
// known by its token, which is not below the Unix ms of its grant.
//
// Modes have the numbers of LockMode; tokens ascend; a holder without holds lingers, and is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/locks/lock.h"
#include "storage/rdb/rdb_module.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr RdbModuleType kRdbLock{"sluicelck", 3};
inline constexpr RdbModuleType kRdbLargeLock{"sluicelck", 4};
inline constexpr RdbModuleType kRdbUntimedLock{"sluicelck", 1};  // as it was before
inline constexpr RdbModuleType kRdbLargeUntimedLock{"sluicelck", 2};

// A lock as a file has it. The file says that a holder was bound to a session, not to which:
// `sessions` is kSessionElsewhere then. No session is to be notified.
struct LockImage {
  LockShape shape;
  int64_t newest_token = 0;         // 0: it has no holder
  std::vector<LockHolder> holders;  // fit beside each other
};

// A lock in pieces, in the second form. It must not change meanwhile.
class LargeLockParts {
 public:
  // All of these outlive the parts.
  LargeLockParts(const Lock& lock, const Now& now, RdbWriter& out);
  // Looks at up to so many holders; false: those were the last.
  bool WriteNext(size_t count);

 private:
  const Now& now_;
  ModuleWriter writer_;
  const LockHolders& holders_;
  LockHolders::Iterator next_;
};

// As it is at `now`: what is over by then is left out.
void WriteLock(const Lock& lock, const Now& now, RdbWriter& writer);
// Null at a fault. The untimed ones read the forms of before.
std::optional<LockImage> ReadLock(ModuleReader& reader, const Now& now);
std::optional<LockImage> ReadLargeLock(ModuleReader& reader, const Now& now);
std::optional<LockImage> ReadUntimedLock(ModuleReader& reader, const Now& now);
std::optional<LockImage> ReadLargeUntimedLock(ModuleReader& reader, const Now& now);
// With its holders, and in no keyspace's book: RdbContext::make_lock of who only reads.
std::unique_ptr<Value> MakePlainLock(const LockImage& image);

}  // namespace sluice
