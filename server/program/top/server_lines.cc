// See server_lines.h.
#include "server/program/top/server_lines.h"

#include <algorithm>
#include <functional>

#include "protocol/text/concat.h"
#include "server/program/top/figures.h"

namespace sluice {
namespace {

// A turn, or a lateness, that others notice.
constexpr int64_t kLongTurnUs = 10'000;
constexpr int64_t kLateMs = 100;
constexpr size_t kLabelColumns = 9;     // columns of the first word of a line
constexpr size_t kAddressLeast = 8;     // what is left of an address, however narrow the screen is
constexpr size_t kColumnsForBoth = 70;  // with fewer the version of Redis's protocol is left out
constexpr std::string_view kBetween = "   ";

// INFO has their counts as limits_window, limits_rolling ...
constexpr std::string_view kAlgorithms[] = {"window", "rolling", "sliding", "log",
                                            "gcra",   "leaky",   "calendar"};

}  // namespace

// --- lines

ServerLines::Lines ServerLines::Said(std::string_view label, std::span<const std::string> parts,
                                     Tone tone) const {
  Lines lines;
  std::string text;
  const auto end_line = [&] {
    lines.push_back(
        {Row().Cell(lines.empty() ? label : "", kLabelColumns).Name(text, columns_).Take(), tone});
  };
  for (const std::string& part : parts) {
    std::string longer = text.empty() ? part : Concat(text, kBetween, part);
    if (!text.empty() && !Fits(longer, columns_ - kLabelColumns, terminal_)) {
      end_line();
      longer = part;
    }
    text = std::move(longer);
  }
  end_line();
  return lines;
}

ScreenLine ServerLines::Bar(std::string_view label, std::span<const std::string> parts) const {
  std::string text = parts.front();
  for (const std::string& part : parts.subspan(1)) {
    const std::string longer = Concat(text, ", ", part);
    if (!Fits(longer, columns_ - kLabelColumns, terminal_)) break;
    text = longer;
  }
  return {Row().Cell(label, kLabelColumns).Name(text, columns_).Fill().Take(), Tone::kTitle};
}

std::string ServerLines::Count(std::string_view field) const { return CountText(Number(field)); }

// A number counted since the start: by the second, if it is known what it was before.
std::string ServerLines::Counted(std::string_view what, int64_t now,
                                 std::optional<int64_t> before) const {
  if (!before || passed_ms_ <= 0 || now < *before) return Concat(CountText(now), ' ', what);
  const double rate = static_cast<double>(now - *before) * 1000 / static_cast<double>(passed_ms_);
  return Concat(RateText(rate), ' ', what, "/s");
}

std::string ServerLines::Counted(std::string_view what, std::string_view field) const {
  return Counted(what, Number(field), before_ ? before_->Number(field) : std::nullopt);
}

// --- what it is, and how

ScreenLine ServerLines::Title() const {
  if (info_.empty()) return {Row().Add("sluice top").Fill().Take(), Tone::kTitle};
  std::string name = Concat("redis ", info_.Text("redis_version"));
  const std::string_view ours = info_.Text("sluice_version");
  if (!ours.empty()) {
    name = columns_ < kColumnsForBoth ? Concat("sluice ", ours)
                                      : Concat("sluice ", ours, " (", name, ')');
  }
  std::string behind;
  if (info_.Has("test_double")) ConcatTo(behind, kBetween, "test double");
  ConcatTo(behind, kBetween, "up ", DurationText(Number("uptime_in_seconds") * 1000));
  RowText row = Row();
  row.Add(name).Add(kBetween);
  const size_t room = row.left() - std::min(row.left(), behind.size());
  return {row.Name(facts_.address, std::max(room, kAddressLeast)).Add(behind).Fill().Take(),
          Tone::kTitle};
}

ServerLines::Lines ServerLines::Clients() const {
  const int64_t bound = Number("maxmemory");
  const int64_t used = Number("used_memory");
  std::string memory = Concat("memory ", BytesText(used));
  if (bound > 0) ConcatTo(memory, " of ", BytesText(bound));
  ConcatTo(memory, ", resident ", BytesText(Number("used_memory_rss")));
  const std::string parts[] = {
      Concat(Count("connected_clients"), ", ", Count("blocked_clients"), " blocked"),
      Concat(Count("instantaneous_ops_per_sec"), " commands/s"), memory};
  return Said("clients", parts, bound > 0 && used >= bound ? Tone::kWarning : Tone::kPlain);
}

ServerLines::Lines ServerLines::Turns() const {
  if (!info_.Has("turn_cpu_us_p999")) return {};
  const int64_t turn_us = Number("turn_cpu_us_p999");
  const int64_t late_ms = Number("expiry_lateness_ms_p999");
  const std::string parts[] = {
      Concat("p99.9 ", MicrosText(turn_us), ", longest ", MicrosText(Number("turn_cpu_us_max"))),
      Concat("expiry late p99.9 ", DurationText(late_ms), ", most ",
             DurationText(Number("expiry_lateness_ms_max")))};
  return Said("turns", parts,
              turn_us >= kLongTurnUs || late_ms >= kLateMs ? Tone::kWarning : Tone::kPlain);
}

std::string ServerLines::LogText() const {
  if (info_.Text("aof_enabled") != "1") return "log off";
  return Concat("log ", info_.Text("aof_last_write_status") == "err" ? "FAILED" : "ok", ", ",
                BytesText(Number("aof_current_size")), ", ", BytesText(Number("aof_buffer_length")),
                " to write");
}

std::string ServerLines::SnapshotText() const {
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

ServerLines::Lines ServerLines::Disk() const {
  if (info_.Text("loading") == "1") {
    const std::string parts[] = {
        Concat("LOADING its data: ", info_.Text("loading_loaded_perc"), "% of ",
               BytesText(Number("loading_total_bytes")), ", some ",
               DurationText(Number("loading_eta_seconds") * 1000), " left")};
    return Said("disk", parts, Tone::kWarning);
  }
  const bool is_faulty = info_.Text("aof_last_write_status") == "err" ||
                         info_.Text("aof_last_bgrewrite_status") == "err" ||
                         info_.Text("rdb_last_bgsave_status") == "err";
  std::vector<std::string> parts = {LogText()};
  if (info_.Text("aof_rewrite_in_progress") == "1") parts.emplace_back("log is being rewritten");
  parts.push_back(SnapshotText());
  return Said("disk", parts, is_faulty ? Tone::kBad : Tone::kPlain);
}

// --- limiters

ServerLines::Lines ServerLines::LimitsBar() const {
  if (!info_.Has("limits_taken")) return {};
  const std::string parts[] = {
      Counted("taken", "limits_taken"), Counted("refused", "limits_refused"),
      Concat(Count("limits_waiting"), " wait"), Concat(Count("limit_policies"), " policies")};
  return {Bar("LIMITS", parts)};
}

ServerLines::Lines ServerLines::Algorithms() const {
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
  Lines lines;
  for (const Decided& each : all) {
    const std::string field = Concat("limits_", each.name);
    const auto before = [&](std::string_view part) {
      return before_ ? before_->Part(field, part) : std::nullopt;
    };
    const std::string parts[] = {Concat(Counted("taken", each.taken, before("taken")), ", ",
                                        Counted("refused", each.refused, before("refused")))};
    for (ScreenLine& line : Said(each.name, parts)) lines.push_back(std::move(line));
  }
  return lines;
}

// --- locks

ServerLines::Lines ServerLines::LocksBar() const {
  if (!info_.Has("locks_held")) {
    const std::string parts[] = {"This server has no locks and limiters of its own."};
    return Said("", parts, Tone::kFaint);
  }
  const std::string parts[] = {
      Concat(Count("locks_held"), " held"), Concat(Count("locks_waiting"), " wait"),
      Counted("granted", "locks_granted"), Counted("expired", "locks_expired"),
      Counted("deadlocks", "locks_deadlocks")};
  Lines lines = {Bar("LOCKS", parts)};
  if (Number("locks_restart_grace") == 0) return lines;
  const std::string grace[] = {Concat("after a restart: locks of unknown owners are held back for ",
                                      DurationText(Number("locks_restart_grace_left_ms")))};
  for (ScreenLine& line : Said("", grace, Tone::kWarning)) lines.push_back(std::move(line));
  return lines;
}

// --- the slow log

ServerLines::Lines ServerLines::Slow(size_t entries_max) const {
  Lines lines;
  if (facts_.slow.empty()) return lines;
  const std::string parts[] = {"what took longest, newest first"};
  lines.push_back(Bar("SLOW", parts));
  for (const SlowFacts& slow : facts_.slow) {
    if (lines.size() > entries_max) break;
    const int64_t ago_s = Number("server_time_usec") / 1'000'000 - slow.unix_s;
    std::string words;
    for (const std::string& word : slow.words) ConcatTo(words, words.empty() ? "" : " ", word);
    RowText row = Row();
    row.Cell(MicrosText(slow.micros), kLabelColumns)
        .Cell(Concat(DurationText(std::max<int64_t>(0, ago_s) * 1000), " ago"), kLabelColumns + 2);
    lines.push_back({row.Name(words, columns_).Take()});
  }
  return lines;
}

}  // namespace sluice
