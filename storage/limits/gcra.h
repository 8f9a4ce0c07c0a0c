// GCRA: the generic cell rate algorithm of ATM (ITU-T I.371, virtual scheduling), max units a
// period evenly spaced, with `burst` extra at once.
//
// The state is the theoretical arrival time: when everything consumed so far will have come back.
// It is kept exact, as whole µs and a fraction in units of 1/max µs, so that 1 s / 7 loses nothing
// however long it runs. What lies between now and that time is the consumed amount: in units of
// 1/max µs, a unit of cost is period µs and a µs gives back max of them. So
//
//   consumed = (tat - now) x max          allowed:  consumed + cost x period <= capacity x period
//
// A token bucket is the same arithmetic with another capacity: rolling.h is this one.
// It answers to the µs; a limiter at rest is as good as a new one.
#pragma once

#include "storage/limits/limit.h"

namespace sluice {

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
