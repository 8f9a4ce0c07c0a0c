// See lock_keys.h. A request names each lock once: a second grant of it would be re-entrant, and a
// wait would stand behind itself.
#include "server/commands/locks/lock_keys.h"

#include <algorithm>
#include <vector>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// O(n log n) on views, without a hash: names come from clients, and there are at most 1024.
bool AllDifferent(Args keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

}  // namespace

// Stops at the first key of another type, and then opens none.
OpenLocks OpenLocksAt(CommandCall& call, const Locks& locks, size_t first, size_t count) {
  OpenLocks open;
  open.reserve(count);
  for (size_t i = first; i < first + count; ++i) {
    const std::optional<OpenLock> lock = OpenLockAt(call, locks, i);
    if (!lock) return {};
    open.push_back(*lock);
  }
  return open;
}

void ReplyGrace(CommandCall& call) {
  call.reply.Error(Concat("LOCKGRACE ", call.part<LockService>().GraceLeftMs(),
                          " ms are left in which an owner of before the restart may hold the "
                          "lock; it proves that by LOCK.RENEW ... TOKEN"));
}

// The count is checked against what is there before it is used in any sum.
size_t ReadLockKeys(CommandCall& call, ArgReader& args, size_t arguments_after) {
  const int64_t count = args.Int();
  if (!args.failed() && count < 1) args.Fail("ERR numkeys should be greater than 0");
  if (!args.failed() && (static_cast<size_t>(count) > args.left() ||
                         args.left() - static_cast<size_t>(count) < arguments_after)) {
    args.Fail("ERR Number of keys can't be greater than number of args");
  }
  if (!args.failed() && static_cast<size_t>(count) > kLockNamesMax) {
    args.Fail("ERR more than 1024 locks at once");
  }
  if (!args.failed() && !AllDifferent(call.args.subspan(2, static_cast<size_t>(count)))) {
    args.Fail("ERR a lock is named twice");
  }
  if (args.failed()) {
    call.reply.Error(args.error());
    return 0;
  }
  args.Skip(static_cast<size_t>(count));
  return static_cast<size_t>(count);
}

}  // namespace sluice
