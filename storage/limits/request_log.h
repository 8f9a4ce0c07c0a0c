// LOG: the exact sliding log, at most max units in any `period` consecutive ticks of 1 ms; and
// LEAKY, the leaky bucket as a meter whose every unit drains by itself one period after it came.
// Seen from the gate the two are one rule, so they are one class: what came less than a period ago
// counts.
//
// A record holds a tick and how many shares (shares.h) had come up to and with it, so requests of
// one tick share a record and "when will enough have gone" is a binary search. A request within a
// tick is booked on its end, so that two requests which exclude each other are a whole period apart
// to the µs, never less. Memory: 16 bytes a tick with requests, at most min(max, period) records,
// freed as they leave; if many leave at once, the owner takes their memory (TakeUnused).
//
// max 5 in 10 s; 2 units at 1 s, 1 at 4 s, 1 at 7 s. At 12 s the first record has left:
//
//   tick   1 s   4 s   7 s
//   sum     2     3     4         gone_ = 2 after the front is dropped; 4 - 2 = 2 units count
//
// Another max or period is asked about in O(log n) without a change (AskAs). Taking under another
// period moves every record, under another max only if the shares have to become finer.
//
// Invariants: ticks and sums strictly increase from front to back; the last sum less `gone_` is
// what counts, at most the whole (the sums wrap around at 2^64, their differences do not).
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "storage/limits/limit.h"
#include "storage/limits/record_queue.h"
#include "storage/limits/shares.h"
#include "storage/limits/tick_run.h"

namespace sluice {

// Ask is O(log n); Consume O(log n) and O(1) amortized for what leaves; Refund O(log n).
class RequestLog {
 public:
  RequestLog() = default;
  // Unpacks a run. `whole`: as whole_.
  RequestLog(const TickRun& run, int64_t whole);

  LimitAnswer Ask(const LimitConfig& config, int64_t now_us, int64_t cost) const {
    return AskAs(config, config, now_us, cost);
  }
  // Answers as Ask would after Reconfigure(own, asked), but changes nothing.
  LimitAnswer AskAs(const LimitConfig& own, const LimitConfig& asked, int64_t now_us,
                    int64_t cost) const;
  void Consume(const LimitConfig& config, int64_t now_us, int64_t cost);
  // Takes back the newest first.
  void Refund(const LimitConfig& config, int64_t now_us, int64_t units);
  // Counts keep their share of max, ages their share of the period. Walks all records if the period
  // changes.
  void Reconfigure(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  int64_t WholeAtUs(const LimitConfig& config, int64_t now_us) const;

  // Drops records that have left, O(log n); the others do it in passing where they change
  // something.
  void Prune(const LimitConfig& config, int64_t now_us);
  // Visits the records that count now: ticks in ascending order, each with at least one share.
  void ForEach(const LimitConfig& config, int64_t now_us,
               absl::FunctionRef<void(int64_t tick, uint64_t shares)> visit) const;
  // The same in pieces: from the first record that counts, up to records(). Valid until the next
  // change; to look is none.
  size_t FirstCounting(const LimitConfig& config, int64_t now_us) const {
    return FirstCounting(TickOf(now_us), config.period_ms);
  }
  int64_t TickAt(size_t index) const { return records_[index].tick; }
  uint64_t SharesAt(size_t index) const { return records_[index].sum - SumBefore(index); }
  // As it is packed: 0, or what Whole says.
  int64_t packed_whole() const { return whole_; }
  // The shares in all; to be set before the first Add.
  int64_t Whole(const LimitConfig& config) const { return whole_ == 0 ? config.max : whole_; }
  void set_whole(const LimitConfig& config, int64_t whole) {
    whole_ = whole == config.max ? 0 : whole;
  }
  // From a file: ticks in ascending order, within one period; shares of at most the whole together.
  void Add(int64_t tick, int64_t shares);
  // The packed form of its requests, beside which `whole` has to be kept. False: too many, or too
  // much for it.
  bool CopyTo(TickRun& run) const;
  size_t heap_bytes() const { return records_.heap_bytes(); }
  size_t records() const { return records_.size(); }
  // Memory of records that have left, as a log that is good for nothing but to be freed.
  bool HasUnused() const { return records_.HasUnused(); }
  void TakeUnusedTo(RequestLog& unused) { records_.TakeUnusedTo(unused.records_); }
  // As Value has them.
  size_t Elements() const { return records_.chunks(); }
  size_t FreeSome(size_t budget) { return records_.FreeSome(budget); }
  // The first violated invariant as a sentence, or empty.
  std::string Audit(const LimitConfig& config) const;

 private:
  struct Record {
    int64_t tick;
    uint64_t sum;  // of all shares up to and with this tick
  };

  // Index of the first record that still counts; size() if none does.
  size_t FirstCounting(int64_t tick, int64_t period_ms) const;
  // Index of the first record whose leaving, with all before it, leaves at most `most` shares.
  size_t FirstLeaving(int64_t most) const;
  // When a record leaves, in engine µs.
  static int64_t LeavesAtUs(const Record& record, const LimitConfig& own, const LimitConfig& asked,
                            int64_t now_us);
  void MoveTicks(const LimitConfig& from, const LimitConfig& to, int64_t now_us);
  template <typename Moved>
  void MoveTicks(const Moved& moved);
  // Makes the shares so fine that a unit is a whole number of them. Only the whole is rounded up,
  // once.
  void Refine(const LimitConfig& config);
  uint64_t SumBefore(size_t index) const { return index == 0 ? gone_ : records_[index - 1].sum; }
  int64_t Counted(size_t first) const;

  RecordQueue<Record> records_;
  uint64_t gone_ = 0;  // the sum before the front record
  int64_t whole_ = 0;  // 0: as many as max, which has not changed since counting began
};

}  // namespace sluice
