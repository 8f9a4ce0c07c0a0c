// See lock_table.h.
#include "server/program/top/lock_table.h"

#include <algorithm>
#include <string>

#include "protocol/text/concat.h"
#include "server/program/top/figures.h"
#include "server/program/top/state.h"

namespace sluice {
namespace {

// From here on a wait is worth a look, and a lease is about to end.
constexpr int64_t kLongWaitMs = 10'000;
constexpr int64_t kShortLeaseMs = 1'000;

constexpr size_t kGap = 1, kMarkColumns = 2;
constexpr size_t kModeColumns = 10, kLeaseColumns = 8, kWaitColumns = 6, kLongestColumns = 7;
// With fewer columns there is none of that kind.
constexpr size_t kColumnsForMode = 70, kColumnsForLongest = 50, kColumnsForWait = 36;
constexpr size_t kHolderLeast = 6;  // what its title takes
constexpr std::string_view kWaits = "  waits";

class Table {
 public:
  Table(const LockTableView& view, TerminalText terminal)
      : columns_(view.columns),
        mark_(view.selected ? kMarkColumns : 0),
        mode_(ColumnsFrom(kColumnsForMode, kModeColumns)),
        wait_(ColumnsFrom(kColumnsForWait, kWaitColumns)),
        longest_(ColumnsFrom(kColumnsForLongest, kLongestColumns)),
        terminal_(terminal) {
    Share(view.locks);
  }

  ScreenLine Title() const {
    return {Row("", "LOCK", "MODE", "HOLDER", "LEASE", "WAIT", "LONGEST").Fill().Take(),
            Tone::kTitle};
  }

  ScreenLine LineOf(const LockFacts& lock, bool is_selected) const {
    const bool is_held = lock.holders > 0;
    const std::string lease = lock.lease_ms < 0 ? "session" : DurationText(lock.lease_ms);
    const bool is_waited_for = lock.waiters > 0;
    RowText row = Row(is_selected ? ">" : "", lock.name, lock.mode, HolderOf(lock),
                      is_held ? lease : "", is_waited_for ? CountText(lock.waiters) : "",
                      lock.first_waiters.empty() ? "" : DurationText(lock.longest_wait_ms()));
    if (is_selected) return {row.Fill().Take(), Tone::kSelected};
    if (!lock.is_known) return {row.Take(), Tone::kFaint};
    const bool is_short = is_held && lock.lease_ms >= 0 && lock.lease_ms < kShortLeaseMs;
    const bool is_long = lock.longest_wait_ms() >= kLongWaitMs;
    return {row.Take(), is_long || (is_short && is_waited_for) ? Tone::kWarning : Tone::kPlain};
  }

  ScreenLine LineOf(const WaiterFacts& waiter) const {
    const std::string waited = DurationText(waiter.waited_ms);
    const std::string whole = Concat(waited, ", for ", DurationText(waiter.left_ms), " more");
    RowText row(columns_, terminal_);
    row.Cell("", mark_).Cell(kWaits, name_).Cell("", kGap);
    if (mode_ > 0) row.Cell("", mode_).Cell("", kGap);
    row.NameCell(waiter.owner, holder_).Cell("", kGap);
    return {row.Add(whole.size() <= row.left() ? whole : waited).Take(), Tone::kFaint};
  }

 private:
  size_t ColumnsFrom(size_t least, size_t columns) const { return columns_ < least ? 0 : columns; }

  static std::string HolderOf(const LockFacts& lock) {
    return lock.is_known ? HolderText(lock) : lock.obstacle;
  }

  // Three parts of five are the name's, as long as both or none of them have enough.
  void Share(std::span<const LockFacts* const> locks) {
    size_t others = mark_ + kLeaseColumns + 2 * kGap;
    for (const size_t column : {mode_, wait_, longest_}) others += column > 0 ? column + kGap : 0;
    const size_t names = columns_ > others ? columns_ - others : 0;
    holder_ = names * 2 / 5;
    name_ = names - holder_;
    size_t name_needs = 0, holder_needs = kHolderLeast;
    for (const LockFacts* const lock : locks) {
      name_needs = std::max(name_needs, Shown(lock->name, names, terminal_).columns);
      holder_needs = std::max(holder_needs, Shown(HolderOf(*lock), names, terminal_).columns);
      for (const WaiterFacts& waiter : lock->first_waiters)
        holder_needs = std::max(holder_needs, Shown(waiter.owner, names, terminal_).columns);
    }
    name_needs = std::max(name_needs, std::min(name_, kWaits.size()));
    if (holder_needs > holder_) {
      holder_ = std::min(holder_needs, std::max(holder_, names - name_needs));
    } else if (name_needs > name_) {
      holder_ = std::max(holder_needs, names - name_needs);
    }
    name_ = names - holder_;
  }

  RowText Row(std::string_view mark, std::string_view name, std::string_view mode,
              std::string_view holder, std::string_view lease, std::string_view wait,
              std::string_view longest) const {
    RowText row(columns_, terminal_);
    row.Cell(mark, mark_).NameCell(name, name_).Cell("", kGap);
    if (mode_ > 0) row.Cell(mode, mode_).Cell("", kGap);
    row.NameCell(holder, holder_).Cell("", kGap).Cell(lease, kLeaseColumns);
    if (wait_ > 0) row.Cell("", kGap).Cell(wait, wait_);
    if (longest_ > 0) row.Cell("", kGap).Cell(longest, longest_);
    return row;
  }

  const size_t columns_, mark_, mode_, wait_, longest_;  // 0: there is none
  const TerminalText terminal_;
  size_t name_ = 0;
  size_t holder_ = 0;
};

}  // namespace

std::vector<ScreenLine> LockTable(const LockTableView& view, TerminalText terminal) {
  std::vector<ScreenLine> lines;
  if (view.rows < 2) return lines;
  const Table table(view, terminal);
  lines.push_back(table.Title());
  const auto say = [&](ScreenLine line) {
    if (lines.size() < view.rows) lines.push_back(std::move(line));
  };
  for (size_t i = 0; i < view.locks.size(); ++i) {
    say(table.LineOf(*view.locks[i], view.selected == i));
    for (const WaiterFacts& waiter : view.locks[i]->first_waiters) say(table.LineOf(waiter));
  }
  return lines;
}

}  // namespace sluice
