// See drawing.h.
#include "server/program/top/drawing.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "protocol/text/concat.h"
#include "server/program/top/figures.h"
#include "server/program/top/lock_table.h"

namespace sluice {
namespace {

// A turn, or a lateness, that others notice.
constexpr int64_t kLongTurnUs = 10'000;
constexpr int64_t kLateMs = 100;
constexpr size_t kLabelColumns = 9;    // columns of the first word of a line
constexpr size_t kRowsForLimits = 16;  // with fewer there is no line for each algorithm
constexpr size_t kRowsForSlow = 20;    // and no slow log
constexpr size_t kRowsForMoreSlow = 40;
constexpr size_t kSlowShown = 2, kMoreSlowShown = 5;

// INFO has their counts as limits_window, limits_rolling ...
constexpr std::string_view kAlgorithms[] = {"window", "rolling", "sliding", "log", "gcra", "leaky"};

class Page {
 public:
  Page(const TopFacts& facts, const TopFacts* before, ScreenSize size, TerminalText terminal)
      : facts_(facts),
        info_(facts.info),
        before_(before ? &before->info : nullptr),
        passed_ms_(before ? facts.at_ms - before->at_ms : 0),
        size_(size),
        terminal_(terminal) {}

  // Everything but the last line, for which there is room.
  std::vector<ScreenLine> Lines() {
    DrawServer();
    if (info_.empty()) return std::move(lines_);
    DrawClients();
    DrawTurns();
    DrawDisk();
    DrawLimits();
    const std::vector<ScreenLine> slow = SlowLines();
    DrawLocks(slow.size());
    for (const ScreenLine& line : slow) lines_.push_back(line);
    if (lines_.size() >= size_.rows) lines_.resize(size_.rows - 1);
    return std::move(lines_);
  }

 private:
  RowText Row() const { return RowText(size_.columns, terminal_); }
  void Say(std::string_view label, std::string_view text, Tone tone = Tone::kPlain) {
    lines_.push_back({Row().Cell(label, kLabelColumns).Add(text).Take(), tone});
  }
  ScreenLine Bar(std::string_view label, std::string_view text) const {
    return {Row().Cell(label, kLabelColumns).Add(text).Fill().Take(), Tone::kTitle};
  }
  int64_t Number(std::string_view field) const { return info_.NumberOr0(field); }
  std::string Count(std::string_view field) const { return CountText(Number(field)); }

  std::string Counted(std::string_view what, int64_t now, std::optional<int64_t> before) const;
  std::string Counted(std::string_view what, std::string_view field) const {
    return Counted(what, Number(field), before_ ? before_->Number(field) : std::nullopt);
  }

  void DrawServer();
  void DrawClients();
  void DrawTurns();
  void DrawDisk();
  std::string LogText() const;
  std::string SnapshotText() const;
  void DrawLimits();
  void DrawAlgorithms();
  void DrawLocks(size_t rows_behind);
  std::vector<ScreenLine> SlowLines() const;

  const TopFacts& facts_;
  const InfoFields& info_;
  const InfoFields* const before_;
  const int64_t passed_ms_;
  const ScreenSize size_;
  const TerminalText terminal_;
  std::vector<ScreenLine> lines_;
};

// --- what it is, and how

// A number counted since the start: by the second, if it is known what it was before.
std::string Page::Counted(std::string_view what, int64_t now, std::optional<int64_t> before) const {
  if (!before || passed_ms_ <= 0 || now < *before) return Concat(CountText(now), ' ', what);
  const double rate = static_cast<double>(now - *before) * 1000 / static_cast<double>(passed_ms_);
  return Concat(RateText(rate), ' ', what, "/s");
}

void Page::DrawServer() {
  const std::string_view ours = info_.Text("sluice_version");
  std::string name = "sluice top";
  if (!info_.empty()) name = Concat("redis ", info_.Text("redis_version"));
  if (!ours.empty()) name = Concat("sluice ", ours, " (", name, ')');
  ConcatTo(name, "   ", facts_.address);
  if (info_.Has("test_double")) name += "   test double";
  if (!info_.empty()) ConcatTo(name, "   up ", DurationText(Number("uptime_in_seconds") * 1000));
  lines_.push_back({Row().Add(name).Fill().Take(), Tone::kTitle});
}

void Page::DrawClients() {
  const int64_t bound = Number("maxmemory");
  const int64_t used = Number("used_memory");
  std::string memory = BytesText(used);
  if (bound > 0) ConcatTo(memory, " of ", BytesText(bound));
  Say("clients",
      Concat(Count("connected_clients"), ", ", Count("blocked_clients"), " blocked   ",
             Count("instantaneous_ops_per_sec"), " commands/s   memory ", memory, ", resident ",
             BytesText(Number("used_memory_rss"))),
      bound > 0 && used >= bound ? Tone::kWarning : Tone::kPlain);
}

void Page::DrawTurns() {
  if (!info_.Has("turn_cpu_us_p999")) return;
  const int64_t turn_us = Number("turn_cpu_us_p999");
  const int64_t late_ms = Number("expiry_lateness_ms_p999");
  Say("turns",
      Concat("p99.9 ", MicrosText(turn_us), ", longest ", MicrosText(Number("turn_cpu_us_max")),
             "   expiry late p99.9 ", DurationText(late_ms), ", most ",
             DurationText(Number("expiry_lateness_ms_max"))),
      turn_us >= kLongTurnUs || late_ms >= kLateMs ? Tone::kWarning : Tone::kPlain);
}

std::string Page::LogText() const {
  if (info_.Text("aof_enabled") != "1") return "log off";
  return Concat("log ", info_.Text("aof_last_write_status") == "err" ? "FAILED" : "ok", ", ",
                BytesText(Number("aof_current_size")), ", ", BytesText(Number("aof_buffer_length")),
                " to write",
                info_.Text("aof_rewrite_in_progress") == "1" ? ", is being rewritten" : "");
}

std::string Page::SnapshotText() const {
  if (info_.Text("rdb_bgsave_in_progress") == "1") {
    return Concat("snapshot runs, ", Count("current_save_keys_processed"), " of ",
                  Count("current_save_keys_total"), " keys");
  }
  const std::string changes = Concat(Count("rdb_changes_since_last_save"), " changes since");
  if (info_.Text("rdb_last_bgsave_status") == "err") return Concat("snapshot FAILED, ", changes);
  if (Number("rdb_saves") == 0) return Concat("no snapshot yet, ", changes, " the start");
  const int64_t now_s = Number("server_time_usec") / 1'000'000;
  const int64_t age_s = std::max<int64_t>(0, now_s - Number("rdb_last_save_time"));
  return Concat("snapshot ", DurationText(age_s * 1000), " ago, ", changes);
}

void Page::DrawDisk() {
  if (info_.Text("loading") == "1") {
    return Say("disk",
               Concat("LOADING its data: ", info_.Text("loading_loaded_perc"), "% of ",
                      BytesText(Number("loading_total_bytes")), ", some ",
                      DurationText(Number("loading_eta_seconds") * 1000), " left"),
               Tone::kWarning);
  }
  const bool is_faulty = info_.Text("aof_last_write_status") == "err" ||
                         info_.Text("aof_last_bgrewrite_status") == "err" ||
                         info_.Text("rdb_last_bgsave_status") == "err";
  Say("disk", Concat(LogText(), "   ", SnapshotText()), is_faulty ? Tone::kBad : Tone::kPlain);
}

// --- limiters

void Page::DrawLimits() {
  if (!info_.Has("limits_taken")) return;
  lines_.push_back(
      Bar("LIMITS",
          Concat(Counted("taken", "limits_taken"), ", ", Counted("refused", "limits_refused"), ", ",
                 Count("limits_waiting"), " wait, ", Count("limit_policies"), " policies")));
  if (size_.rows >= kRowsForLimits) DrawAlgorithms();
}

// Algorithms that were ever asked for; the ones that refused most stand first.
void Page::DrawAlgorithms() {
  struct Decided {
    std::string_view name;
    int64_t taken, refused;
  };
  std::vector<Decided> all;
  for (const std::string_view name : kAlgorithms) {
    const std::string field = Concat("limits_", name);
    const Decided each{name, info_.Part(field, "taken").value_or(0),
                       info_.Part(field, "refused").value_or(0)};
    if (each.taken > 0 || each.refused > 0) all.push_back(each);
  }
  std::ranges::stable_sort(all, std::greater{}, &Decided::refused);
  for (const Decided& each : all) {
    const std::string field = Concat("limits_", each.name);
    const auto before = [&](std::string_view part) {
      return before_ ? before_->Part(field, part) : std::nullopt;
    };
    Say(each.name, Concat(Counted("taken", each.taken, before("taken")), ", ",
                          Counted("refused", each.refused, before("refused"))));
  }
}

// --- locks

void Page::DrawLocks(size_t rows_behind) {
  if (!info_.Has("locks_held")) {
    return Say("", Concat("This server has no locks and limiters of its own."), Tone::kFaint);
  }
  const int64_t held = Number("locks_held");
  const auto looked_at = static_cast<int64_t>(facts_.locks.size());
  const std::string part =
      looked_at < held ? Concat(" (", CountText(looked_at), " looked at)") : std::string();
  lines_.push_back(Bar("LOCKS", Concat(CountText(held), " held", part, ", ", Count("locks_waiting"),
                                       " wait, ", Counted("granted", "locks_granted"), ", ",
                                       Counted("expired", "locks_expired"), ", ",
                                       Counted("deadlocks", "locks_deadlocks"))));
  if (Number("locks_restart_grace") != 0) {
    Say("",
        Concat("after a restart: locks of unknown owners are held back for ",
               DurationText(Number("locks_restart_grace_left_ms"))),
        Tone::kWarning);
  }
  const size_t taken = lines_.size() + rows_behind + 1;
  if (looked_at == 0 || taken >= size_.rows) return;
  for (ScreenLine& line : LockTable(facts_.locks, size_.rows - taken, size_.columns, terminal_))
    lines_.push_back(std::move(line));
}

// --- the slow log

std::vector<ScreenLine> Page::SlowLines() const {
  std::vector<ScreenLine> lines;
  if (size_.rows < kRowsForSlow || facts_.slow.empty()) return lines;
  lines.push_back(Bar("SLOW", "what took longest, newest first"));
  const size_t most = size_.rows < kRowsForMoreSlow ? kSlowShown : kMoreSlowShown;
  for (const SlowFacts& slow : facts_.slow) {
    if (lines.size() > most) break;
    const int64_t ago_s = Number("server_time_usec") / 1'000'000 - slow.unix_s;
    RowText row = Row();
    row.Cell(MicrosText(slow.micros), kLabelColumns)
        .Cell(Concat(DurationText(std::max<int64_t>(0, ago_s) * 1000), " ago"), kLabelColumns + 2);
    for (const std::string& word : slow.words) row.Add(word).Add(" ");
    lines.push_back({row.Take()});
  }
  return lines;
}

// The trouble, the note on missing facts, or the keys there are; empty: nothing.
ScreenLine LastLine(const TopView& view, ScreenSize size, TerminalText terminal) {
  const auto line = [&](std::string_view text, Tone tone) -> ScreenLine {
    return {RowText(size.columns, terminal).Add(text).Take(), tone};
  };
  if (!view.trouble.empty()) return line(view.trouble, Tone::kBad);
  if (view.now && !view.now->note.empty()) return line(view.now->note, Tone::kWarning);
  return line(view.keys, Tone::kFaint);
}

}  // namespace

std::vector<ScreenLine> Draw(const TopView& view, ScreenSize size, TerminalText terminal) {
  size.columns = std::max(size.columns, ScreenSize::kColumnsLeast);
  size.rows = std::max(size.rows, ScreenSize::kRowsLeast);
  const TopFacts nothing;
  const TopFacts& facts = view.now ? *view.now : nothing;
  std::vector<ScreenLine> lines = Page(facts, view.before, size, terminal).Lines();
  // Facts that may be outdated are faint.
  for (ScreenLine& line : lines) {
    if (!view.trouble.empty() && line.tone != Tone::kTitle) line.tone = Tone::kFaint;
  }
  ScreenLine last = LastLine(view, size, terminal);
  if (!last.text.empty()) lines.push_back(std::move(last));
  return lines;
}

}  // namespace sluice
