// GCRA: the generic cell rate algorithm of ATM (ITU-T I.371, virtual scheduling), max units a
// period evenly spaced, with `burst` extra at once.
//
// The state is the theoretical arrival time: when everything consumed so far will have come back.
// It is kept exact, as whole µs and a fraction in units of 1/max µs, so that 1 s / 7 loses nothing
// however long it runs. The consumed amount is what lies between now and that time: in units of
// 1/max µs, a unit of cost is period µs and a µs gives back max of them. So
//
//   consumed = (tat - now) x max          allowed:  consumed + cost x period <= capacity x period
//
// 3 units a second, no burst (capacity 1): a unit of cost weighs 1,000,000 units of 1/3 µs.
//
//   at 0         consumed 0           cost 1 fits; tat = 333,333 µs and 1/3
//   at 100,000   consumed 700,000     0 left of the one: refused; fits at 333,334 µs
//   at 333,334   consumed 0           fits again
//
// It answers to the µs; a limiter at rest is as good as a new one. A token bucket is the same
// arithmetic with another capacity: rolling.h is this one.
#pragma once

#include "storage/limits/limit.h"

namespace sluice {

// See limit.h for what each function promises. All are O(1), with at most a few 128-bit divisions.
struct GcraState {
  int64_t tat_us = kLongAgo;
  int64_t tat_part = 0;  // of a µs, in 1/max: 0 .. max - 1

  LimitAnswer Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const;
  void Consume(const LimitConfig& config, int64_t now_us, int64_t cost);
  void Refund(const LimitConfig& config, int64_t now_us, int64_t units);
  void Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  int64_t WholeAtUs(const LimitConfig& config, int64_t now_us) const;

 private:
  // In units of 1/max µs, 0 .. capacity x period.
  Wide Consumed(const LimitConfig& config, int64_t now_us) const;
  void SetConsumed(const LimitConfig& config, int64_t now_us, Wide consumed);
};
static_assert(sizeof(GcraState) == 16);

}  // namespace sluice
