// LimitService: the limits of the server as one part: it takes from them and counts what was
// decided, whether a command asks, a waiter, or a program without words; and it keeps what stands
// beside the keyspace: the named policies, the moments that drains share, the requests that were
// read last.
//
//   LimiterKey limiter(db, key, now);
//   if (limiter.IsOpenTo(request.config.algorithm)) verdict = limits.Take(limiter, db.index(),
//   request);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/limits/calendars.h"
#include "server/limits/limit_statistics.h"
#include "server/limits/parsed_args_cache.h"
#include "server/observe/refused_keys.h"
#include "storage/limits/cell.h"
#include "storage/limits/drain_seconds.h"
#include "storage/limits/limiter_state.h"
#include "storage/limits/policy.h"
#include "storage/requests/request_memory.h"

namespace sluice {

class LimiterKey;

// A request of LIMIT.TAKE, as its words say.
struct TakeOptions {
  LimitRequest request;
  std::string_view policy;  // its name; empty: the request came with numbers
  bool peek = false;
  bool shadow = false;  // answered and stored as any other; statistics and events tell it apart
  std::optional<int64_t> wait_ms;
  std::optional<int64_t> at_unix_us;  // of a logged request: the moment at which it was made
  RequestId id;                       // empty: it has none
  int64_t for_ms = 0;                 // 0: as long as is usual
};

class LimitService {
 public:
  // `zones`: null where there is none but UTC; outlives the service.
  explicit LimitService(ZoneSource* zones = nullptr) : calendars_(zones) {}

  // Row of the statistics that a decision belongs to.
  struct CountedAs {
    std::string_view policy;  // empty: none
    bool shadow = false;
  };

  // Takes, and counts the decision. Requires: limiter.IsOpenTo(request.config.algorithm).
  LimitVerdict Take(LimiterKey& limiter, int db, const LimitRequest& request, const CountedAs& as);
  LimitVerdict Take(LimiterKey& limiter, int db, const LimitRequest& request) {
    return Take(limiter, db, request, CountedAs());
  }
  // Counts a decision that was made without Take: a wait's, or that of a part of LIMIT.ALL.
  void Count(int db, const HashedKey& key, LimitAlgorithm algorithm, const CountedAs& as,
             bool allowed);
  // Counts the refusal for the page alone: CL.THROTTLE's.
  void NoteRefused(int db, const HashedKey& key) {
    if (refused_) [[unlikely]]
      refused_->Count(db, key);
  }

  PolicyTable& policies() { return policies_; }
  Calendars& calendars() { return calendars_; }
  DrainSeconds& drain_seconds() { return drain_seconds_; }
  // The words behind the key, as read last: LIMIT.TAKE's, CL.THROTTLE's.
  ParsedArgsCache<TakeOptions>& parsed_takes() { return parsed_takes_; }
  ParsedArgsCache<CellRequest>& parsed_cells() { return parsed_cells_; }
  LimitStatistics& statistics() { return statistics_; }

  // From now on the keys that are refused most are kept, for the page.
  void KeepRefused() {
    if (!refused_) refused_ = std::make_unique<RefusedKeys>();
  }
  RefusedKeys* refused() { return refused_.get(); }  // null: they are not kept

 private:
  Calendars calendars_;  // outlive what points at them
  PolicyTable policies_;
  DrainSeconds drain_seconds_;
  ParsedArgsCache<TakeOptions> parsed_takes_;
  ParsedArgsCache<CellRequest> parsed_cells_;
  LimitStatistics statistics_;
  std::unique_ptr<RefusedKeys> refused_;
};

}  // namespace sluice
