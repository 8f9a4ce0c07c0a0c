// See lock_table.h.
#include "server/program/top/lock_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "protocol/text/concat.h"
#include "server/program/top/figures.h"

namespace sluice {
namespace {

// From here on a wait is worth a look, and a lease is about to end.
constexpr int64_t kLongWaitMs = 10'000;
constexpr int64_t kShortLeaseMs = 1'000;

constexpr size_t kModeColumns = 10, kLeaseColumns = 8, kWaitColumns = 6, kLongest = 7, kGap = 1;
constexpr size_t kFixed = kModeColumns + kLeaseColumns + kWaitColumns + kLongest + 5 * kGap;
constexpr size_t kNamesLeast = 16;  // of name and holder; on a small screen the last columns go

class Table {
 public:
  Table(size_t columns, TerminalText terminal) : columns_(columns), terminal_(terminal) {
    const size_t names = std::max(kNamesLeast, columns > kFixed ? columns - kFixed : 0);
    holder_ = names * 2 / 5;
    name_ = names - holder_;
  }

  std::string Title() const {
    return RowText(columns_, terminal_)
        .Add(Row("LOCK", "MODE", "HOLDER", "LEASE", "WAIT", "LONGEST"))
        .Fill()
        .Take();
  }

  ScreenLine LineOf(const LockFacts& lock) const {
    if (!lock.is_known) {
      const std::string size = CountText(static_cast<int64_t>(lock.name.size()));
      return {Row(lock.name, "", Concat("name of ", size, " bytes"), "", "", ""), Tone::kFaint};
    }
    const bool is_held = lock.holders > 0;
    std::string holder = lock.owner;
    if (lock.holders > 1) holder = Concat(CountText(lock.holders), ": ", holder);
    if (!lock.label.empty()) ConcatTo(holder, " (", lock.label, ')');
    const std::string lease =
        lock.lease_ms < 0 ? std::string("session") : DurationText(lock.lease_ms);
    const bool is_short = is_held && lock.lease_ms >= 0 && lock.lease_ms < kShortLeaseMs;
    const bool is_long = lock.longest_wait_ms() >= kLongWaitMs;
    const bool is_waited_for = lock.waiters > 0;
    return {Row(lock.name, lock.mode, is_held ? holder : "", is_held ? lease : "",
                is_waited_for ? CountText(lock.waiters) : "",
                lock.first_waiters.empty() ? "" : DurationText(lock.longest_wait_ms())),
            is_long || (is_short && is_waited_for) ? Tone::kWarning : Tone::kPlain};
  }

  ScreenLine LineOf(const WaiterFacts& waiter) const {
    return {RowText(columns_, terminal_)
                .Cell("  waits", name_ + kGap + kModeColumns + kGap)
                .Cell(waiter.owner, holder_)
                .Cell("", kGap)
                .Add(Concat(DurationText(waiter.waited_ms), ", for ", DurationText(waiter.left_ms),
                            " more"))
                .Take(),
            Tone::kFaint};
  }

 private:
  std::string Row(std::string_view name, std::string_view mode, std::string_view holder,
                  std::string_view lease, std::string_view wait, std::string_view longest) const {
    const struct {
      std::string_view text;
      size_t columns;
    } cells[] = {{name, name_},          {mode, kModeColumns}, {holder, holder_},
                 {lease, kLeaseColumns}, {wait, kWaitColumns}, {longest, kLongest}};
    RowText row(columns_, terminal_);
    for (const auto& cell : cells) row.Cell(cell.text, cell.columns).Cell("", kGap);
    return row.Take();
  }

  const size_t columns_;
  const TerminalText terminal_;
  size_t name_ = 0;
  size_t holder_ = 0;
};

bool ComesBefore(const LockFacts* a, const LockFacts* b) {
  const auto key = [](const LockFacts& lock) {
    const bool has_lease = lock.is_known && lock.lease_ms >= 0;
    return std::make_tuple(lock.waiters == 0, -lock.longest_wait_ms(),
                           has_lease ? lock.lease_ms : std::numeric_limits<int64_t>::max());
  };
  return key(*a) != key(*b) ? key(*a) < key(*b) : a->name < b->name;
}

}  // namespace

std::vector<ScreenLine> LockTable(const std::vector<LockFacts>& locks, size_t rows, size_t columns,
                                  TerminalText terminal) {
  std::vector<ScreenLine> lines;
  if (rows < 2) return lines;
  std::vector<const LockFacts*> sorted;
  sorted.reserve(locks.size());
  for (const LockFacts& lock : locks) sorted.push_back(&lock);
  std::ranges::sort(sorted, ComesBefore);
  const Table table(columns, terminal);
  lines.push_back({table.Title(), Tone::kTitle});
  const auto say = [&](ScreenLine line) {
    if (lines.size() < rows) lines.push_back(std::move(line));
  };
  for (const LockFacts* const lock : sorted) {
    say(table.LineOf(*lock));
    for (const WaiterFacts& waiter : lock->first_waiters) say(table.LineOf(waiter));
  }
  return lines;
}

}  // namespace sluice
