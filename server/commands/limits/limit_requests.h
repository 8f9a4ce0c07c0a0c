// LIMIT.TAKE, LIMIT.ALL, LIMIT.REFUND and LBUCKET.COUNT that name themselves (ID): what they are
// remembered as, and how a verdict is kept and told again. The numbers are those of the first
// answer; spans go down with time, so that the moments which they name stay.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/command.h"
#include "server/limits/limit_service.h"
#include "server/limits/request_ids.h"

namespace sluice {

inline constexpr std::string_view kOtherRequest =
    "ERR this ID is that of another request, of another key, cost or algorithm";

// The name that a request gives itself, and for how long it is remembered by that.
struct RequestName {
  RequestId id;        // empty: it has none
  int64_t for_ms = 0;  // 0: as long as is usual
};
// Reads [ID token] [FOR ms], in any order, up to the end; a fault is left in `args`.
RequestName ReadRequestName(ArgReader& args);

// The kinds of requests that may have a name. The numbers stand in files, in fingerprints.
enum class Asks : uint8_t { kTake = 0, kShadow = 1, kAll = 2, kRefund = 3, kCount = 4 };

// The fingerprint of a request's words, from which the numbers of its limit are left out. LIMIT.ALL
// has one of all its parts, each with that of those before; 0 stands before the first.
uint64_t AddToFingerprint(uint64_t before, Asks what, int db, std::string_view key,
                          LimitAlgorithm algorithm, int64_t cost);
// A request of LIMIT.TAKE with this ID. Without FOR it is remembered for its period, an hour at
// most.
RequestIds::Asked AskedTake(const CommandCall& call, const TakeOptions& options,
                            const RequestId& id);
int64_t RequestForMs(int64_t given_ms, int64_t period_ms);

// True: it was asked before, or another one was under its name, and that has been answered. The
// answer is `reply`'s to make.
bool IsAnswered(CommandCall& call, const RequestIds::Asked& asked,
                absl::FunctionRef<void(const RequestMemory::Answer& answer)> reply);

// A verdict as it is remembered.
std::array<int64_t, 5> NumbersOf(const LimitVerdict& verdict);
// The one whose numbers stand from `at` on.
LimitVerdict VerdictAt(const RequestMemory::Answer& answer, size_t at, const Now& now);

}  // namespace sluice
