// See defragmenter.h.
#include "server/engine/defragmenter.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/observe/statistics.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

// A pass leaves pages that were filled again meanwhile: so many follow each other at most.
constexpr int kPassesMax = 8;
// A pass that can gain less, in bytes and of what the one before could, is not worth it.
constexpr size_t kWorthwhileBytes = 1 << 20;
constexpr size_t kWorthwhilePart = 20;
// When there was nothing to be gained, or all has been: sparse pages do not come by the second.
constexpr int64_t kPauseMs = 10'000;
constexpr int64_t kRetryMs = 100;  // while a snapshot is written

}  // namespace

Defragmenter::Defragmenter(const Parts& parts, TimerTasks& timers)
    : parts_(parts), timers_(timers) {
  slice_.fired = [](TimerTask& task) {
    static_cast<TimerTaskOf<Defragmenter>&>(task).owner.Slice();
  };
}

Defragmenter::~Defragmenter() { timers_.Disarm(slice_); }

// --- whether to begin

// A snapshot looks at entries where they are.
bool Defragmenter::MayRun() const { return !parts_.Get<Keyspace>().takes_image(); }

void Defragmenter::EverySecond(size_t used) {
  const Settings& settings = parts_.Get<Config>().settings();
  const int64_t now_ms = parts_.Get<TurnClock>().now().ms();
  if (!settings.activedefrag || running() || now_ms < next_look_ms_ || !MayRun()) return;
  // The system is asked first, as a survey looks at every page.
  const auto resident = static_cast<size_t>(parts_.Get<Host>().process().Usage().resident_bytes);
  const size_t excess = resident - std::min(resident, used);
  const auto is_much = [&settings](size_t spare, size_t of) {
    return spare > static_cast<size_t>(settings.active_defrag_ignore_bytes) &&
           spare * 100 > of * static_cast<size_t>(settings.active_defrag_threshold_lower);
  };
  if (!is_much(excess, used)) return;
  next_look_ms_ = now_ms + kPauseMs;
  auto run = std::make_unique<Run>(parts_.Get<Keyspace>());
  if (!Survey(*run)) return;
  const size_t spare = run->pages.page_bytes() - run->pages.used_bytes();
  if (!is_much(spare, run->pages.used_bytes())) return;
  const int percent = PercentFor(spare, run->pages.used_bytes());
  Start(std::move(run), percent);
}

bool Defragmenter::Begin() {
  if (running() || !MayRun()) return false;
  auto run = std::make_unique<Run>(parts_.Get<Keyspace>());
  if (!Survey(*run)) return false;
  const Settings& settings = parts_.Get<Config>().settings();
  Start(std::move(run), static_cast<int>(settings.active_defrag_cycle_max));
  return true;
}

// False: there is little to be gained.
bool Defragmenter::Survey(Run& run) const {
  run.pages.Clear();
  if (!parts_.Get<Host>().process().SurveyPages(run.pages)) return false;
  run.pages.Choose();
  return run.pages.chosen_bytes() >= kWorthwhileBytes;
}

// As in Redis: from cycle-min at threshold-lower to cycle-max at threshold-upper.
int Defragmenter::PercentFor(size_t excess, size_t used) const {
  const Settings& settings = parts_.Get<Config>().settings();
  const int64_t lower = settings.active_defrag_threshold_lower;
  const int64_t upper = std::max(settings.active_defrag_threshold_upper, lower + 1);
  const int64_t least = settings.active_defrag_cycle_min;
  const int64_t most = std::max(settings.active_defrag_cycle_max, least);
  const auto part = static_cast<int64_t>(excess * 100 / std::max<size_t>(used, 1));
  const int64_t above = std::clamp(part, lower, upper) - lower;
  return static_cast<int>(least + (most - least) * above / (upper - lower));
}

// --- a run

void Defragmenter::Start(std::unique_ptr<Run> run, int percent) {
  run_ = std::move(run);
  run_->began_ms = parts_.Get<TurnClock>().now().ms();
  run_->resident_at_begin = parts_.Get<Host>().process().Usage().resident_bytes;
  run_->chosen_before = run_->pages.chosen_bytes();
  percent_ = percent;
  ++counts_.runs;
  timers_.Arm(slice_, run_->began_ms + 1);
}

// Segments one by one, some 20 µs each, until the slice is over.
void Defragmenter::Slice() {
  const TurnClock& clock = parts_.Get<TurnClock>();
  if (!MayRun()) return timers_.Arm(slice_, clock.now().ms() + kRetryMs);
  if (!parts_.Get<Config>().settings().activedefrag && run_->passes > 1) return End();
  Host& host = parts_.Get<Host>();
  host.process().ReturnFreedAtOnce(true);
  const absl::Cleanup usual = [&host] { host.process().ReturnFreedAtOnce(false); };
  const int64_t begin = clock.clock().TickNanos();
  int64_t took = 0;
  while (took < kSliceNanos) {
    if (!run_->mover.Step() && !GoesOn()) return End();
    took = clock.clock().TickNanos() - begin;
  }
  Rest(took);
}

// A pass is over. Another one is worth it while each finds much less to be gained than the last.
bool Defragmenter::GoesOn() {
  const uint64_t moved = run_->mover.counts().blocks;
  if (moved == std::exchange(run_->moved_before, moved)) return false;
  run_->mover.Restart();
  if (++run_->passes > kPassesMax || !Survey(*run_)) return false;
  const size_t before = std::exchange(run_->chosen_before, run_->pages.chosen_bytes());
  return run_->chosen_before < before - before / kWorthwhilePart;
}

void Defragmenter::End() {
  const int64_t gained =
      run_->resident_at_begin - parts_.Get<Host>().process().Usage().resident_bytes;
  if (gained > 0) parts_.Get<Statistics>().returned_bytes += static_cast<uint64_t>(gained);
  counts_ = counts();
  counts_.ran_ms += running_ms();
  next_look_ms_ = parts_.Get<TurnClock>().now().ms() + kPauseMs;
  run_.reset();
  percent_ = 0;
}

// So long that slices take their share of the time.
void Defragmenter::Rest(int64_t took_ns) {
  constexpr int64_t kNanosPerMs = 1'000'000;
  const int64_t rest_ns = took_ns * (100 - percent_) / percent_;
  const int64_t rest_ms = std::max<int64_t>(1, rest_ns / kNanosPerMs);
  timers_.Arm(slice_, parts_.Get<TurnClock>().now().ms() + rest_ms);
}

void Defragmenter::TimeShifted(int64_t ms) {
  next_look_ms_ += ms;
  if (!running()) return;
  run_->began_ms += ms;
  if (slice_.node.linked()) timers_.Arm(slice_, slice_.node.deadline_ms() + ms);
}

// --- counts

int64_t Defragmenter::running_ms() const {
  return running() ? parts_.Get<TurnClock>().now().ms() - run_->began_ms : 0;
}

Defragmenter::Counts Defragmenter::counts() const {
  Counts counts = counts_;
  if (!running()) return counts;
  const EntryMover::Counts& moved = run_->mover.counts();
  counts.moved.blocks += moved.blocks;
  counts.moved.keys += moved.keys;
  counts.moved.keys_left += moved.keys_left;
  return counts;
}

}  // namespace sluice
