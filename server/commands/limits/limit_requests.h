// LIMIT.TAKE, LIMIT.ALL, LIMIT.REFUND and LBUCKET.COUNT that name themselves (ID): what they are
// remembered as, and how a verdict is kept and told again. The numbers are those of the first
// answer; spans go down with time, so that the moments which they name stay.
#pragma once

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
  std::string id;      // empty: it has none
  int64_t for_ms = 0;  // 0: as long as is usual
};
// Reads [ID token] [FOR ms], in any order, up to the end; a fault is left in `args`.
RequestName ReadRequestName(ArgReader& args);

// "take", "refund" ..., the key, and the cost of it; LIMIT.ALL adds the others.
void AddToFingerprint(std::string& text, std::string_view what, int db, std::string_view key,
                      std::string_view algorithm, int64_t cost);
// A request of LIMIT.TAKE with an ID. Without FOR it is remembered for its period, an hour at most.
RequestIds::Asked AskedTake(int db, std::string_view key, const TakeOptions& options);
int64_t RequestForMs(int64_t given_ms, int64_t period_ms);

// True: it was asked before, or another one was under its name, and that has been answered. The
// answer is `reply`'s to make.
bool IsAnswered(CommandCall& call, const RequestIds::Asked& asked,
                absl::FunctionRef<void(const RequestMemory::Answer& answer)> reply);

// Five numbers each.
void AddVerdict(RequestIds::Values& values, const LimitVerdict& verdict);
LimitVerdict VerdictAt(const RequestMemory::Answer& answer, size_t at, const Now& now);

}  // namespace sluice
