// How a log says that an owner holds a lock: LOCK.RESTORE with all there is to the holder, moments
// as Unix times, so that it means the same whenever it is read (server/commands/locks/lock_restore
// reads it).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "protocol/args.h"
#include "storage/locks/lock.h"

namespace sluice {

// By LockMode, as LOCK.INFO says it.
inline constexpr std::string_view kLockModeWords[] = {"exclusive", "shared", "permits"};

void TellHolder(LockNameView name, const Lock& lock, const LockHolder& holder, const Now& now,
                absl::FunctionRef<void(Args)> tell);

}  // namespace sluice
