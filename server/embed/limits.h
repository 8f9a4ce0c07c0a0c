// Limits in words that read well, for Database::Take; docs/locks-and-limits.md says which is for
// what.
//
//   if (!db.Take("user:17", sluice::Rolling{100, 60s})) return TooManyRequests();
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {
inline namespace v1 {

using Millis = std::chrono::milliseconds;

// At most `max` a window; it opens with its first request, and its end never moves.
struct Window {
  int64_t max;
  Millis period;
};
// `max` is refilled evenly over the period; up to `burst` is saved (0: max).
struct Rolling {
  int64_t max;
  Millis period;
  int64_t burst = 0;
};
// Two windows, weighted.
struct Sliding {
  int64_t max;
  Millis period;
};
// Exact: never more than `max` in any period.
struct RequestLog {
  int64_t max;
  Millis period;
};
// Evenly spaced, and `burst` more at once.
struct Gcra {
  int64_t max;
  Millis period;
  int64_t burst = 0;
};
// Every unit drains one period after it came.
struct Leaky {
  int64_t max;
  Millis period;
};
// One that was named with LIMIT.POLICY SET.
struct Policy {
  std::string name;
};

// Any of them.
struct Limit {
  Limit(const Window& limit) : Limit("WINDOW", limit.max, limit.period, 0) {}
  Limit(const Rolling& limit) : Limit("ROLLING", limit.max, limit.period, limit.burst) {}
  Limit(const Sliding& limit) : Limit("SLIDING", limit.max, limit.period, 0) {}
  Limit(const RequestLog& limit) : Limit("LOG", limit.max, limit.period, 0) {}
  Limit(const Gcra& limit) : Limit("GCRA", limit.max, limit.period, limit.burst) {}
  Limit(const Leaky& limit) : Limit("LEAKY", limit.max, limit.period, 0) {}
  Limit(const Policy& limit) : Limit("POLICY", 0, Millis(0), 0) { policy = limit.name; }
  // In the words of LIMIT.TAKE: WINDOW, ROLLING, ...
  Limit(std::string_view word, int64_t most, Millis span, int64_t saved)
      : algorithm(word), max(most), period(span), burst(saved) {}

  std::string_view algorithm;  // of static text
  int64_t max;
  Millis period;
  int64_t burst;
  std::string policy;
};

// A limit's answer to a request. In an `if` it is whether the request is allowed.
struct Verdict {
  bool allowed = false;
  int64_t limit = 0;      // the most that an unused one grants at once
  int64_t remaining = 0;  // now
  // Until this cost would fit: 0 if it did. None: it never can, or nothing was decided.
  std::optional<Millis> retry_after = {};
  Millis reset_after{0};   // until the limit is whole again
  Millis reset_at{0};      // the same, since 1970
  std::string error = {};  // why nothing was decided: the key holds something else, ...
  explicit operator bool() const { return allowed; }
};

}  // namespace v1
}  // namespace sluice
