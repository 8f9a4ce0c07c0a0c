// Defragmenter: brings resident memory down after a load that has left the allocator's pages
// sparsely used, without a restart: entries are moved off such pages
// (storage/keyspace/entry_mover.h), and what comes free goes back to the system.
//
//   once a second      is much more resident than is used?       two numbers
//   then               which pages would come free?              Host::SurveyPages
//   then, in slices    entries on those pages are moved          a timer, while there is work
//   after each pass    the same question, until little is to be gained
//
// A slice takes kSliceNanos of a turn, and slices together the share of the time that
// active-defrag-cycle-min and -max allow, more of it the worse it is. Bounds and options are
// Redis's. A server with nothing to gain pays for the look once a second; no timer is set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/core/parts.h"
#include "storage/keyspace/entry_mover.h"
#include "storage/memory/sparse_pages.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Defragmenter {
 public:
  static constexpr int64_t kSliceNanos = 250'000;

  // For INFO; CONFIG RESETSTAT forgets it.
  struct Counts {
    EntryMover::Counts moved;
    int64_t ran_ms = 0;  // from the beginning to the end of runs, rests included
    uint64_t runs = 0;
  };

  // `parts` outlive it, and are asked from the first call on.
  Defragmenter(const Parts& parts, TimerTasks& timers);
  ~Defragmenter();

  // `used`: bytes that the server accounts for. Begins a run where active-defrag-* say so.
  void EverySecond(size_t used);
  // MEMORY PURGE: begins one if there is anything to gain. False: there is not, or one runs.
  bool Begin();

  bool running() const { return run_ != nullptr; }
  int percent() const { return percent_; }  // of the time that the run takes; 0: none runs
  int64_t running_ms() const;
  Counts counts() const;
  void ResetStatistics() { counts_ = {}; }
  void TimeShifted(int64_t ms);  // see Assembly::TimeShifted

 private:
  // State of a run.
  struct Run {
    explicit Run(Keyspace& keyspace) : mover(keyspace, pages) {}
    SparsePages pages;
    EntryMover mover;
    int64_t began_ms = 0;
    int64_t resident_at_begin = 0;
    size_t chosen_before = 0;  // bytes that the pass could gain
    uint64_t moved_before = 0;
    int passes = 1;
  };

  bool MayRun() const;
  bool Survey(Run& run) const;
  int PercentFor(size_t excess, size_t used) const;
  void Start(std::unique_ptr<Run> run, int percent);
  void Slice();
  bool GoesOn();
  void End();
  void Rest(int64_t took_ns);

  const Parts& parts_;
  TimerTasks& timers_;
  TimerTaskOf<Defragmenter> slice_{*this};
  std::unique_ptr<Run> run_;
  int percent_ = 0;
  int64_t next_look_ms_ = 0;
  Counts counts_;
};

}  // namespace sluice
