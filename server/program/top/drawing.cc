// See drawing.h.
#include "server/program/top/drawing.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "server/program/top/figures.h"
#include "server/program/top/lock_table.h"
#include "server/program/top/server_lines.h"

namespace sluice {
namespace {

using Mode = TopState::Mode;
using DrawnLines = std::vector<ScreenLine>;

constexpr size_t kRowsForMoreSlow = 40;
constexpr size_t kSlowShown = 2, kMoreSlowShown = 5;
// The sentence above the last line takes no more than one row in five of a small screen.
constexpr size_t kRowsForASentence = 5, kSentenceRowsMax = 3;

constexpr std::string_view kKeysInShort = "? shows the keys";
constexpr std::string_view kKeys = "q quits, / searches, b breaks a lock, ? shows the keys";
constexpr std::string_view kKeysInSearch = "Enter keeps it, Esc shows all again";
constexpr std::string_view kHelpLines[][2] = {
    {"Up, k   Down, j", "the lock above, below"},
    {"PgUp   PgDn", "a page up, down"},
    {"g, Home   G, End", "the first, the last"},
    {"/", "only names with a part; Esc shows all"},
    {"b", "breaks the selected lock, if you say y"},
    {"space", "looks again at once"},
    {"q, Ctrl-C", "quits; Ctrl-Z stops"},
};
constexpr size_t kHelpKeyColumns = 18;

void Append(DrawnLines lines, DrawnLines& to) {
  for (ScreenLine& line : lines) to.push_back(std::move(line));
}

// The lines above the table, and behind it, as far as the table leaves room.
struct Surroundings {
  DrawnLines clients, turns, disk, limits, algorithms, slow;

  size_t rows() const {
    return clients.size() + turns.size() + disk.size() + limits.size() + algorithms.size() +
           slow.size();
  }

  // Leaves out what is worth least until no more rows are taken. Lines about trouble go last.
  void FitIn(size_t rows_max) {
    while (rows() > rows_max && slow.size() > 2) slow.pop_back();
    if (rows() > rows_max) slow.clear();
    while (rows() > rows_max && !algorithms.empty()) algorithms.pop_back();
    for (DrawnLines* const lines : {&turns, &limits, &disk, &clients}) {
      const bool is_well = lines->empty() || lines->front().tone == Tone::kPlain ||
                           lines->front().tone == Tone::kTitle;
      if (rows() > rows_max && is_well) lines->clear();
    }
    for (DrawnLines* const lines : {&turns, &clients, &disk})
      while (rows() > rows_max && !lines->empty()) lines->pop_back();
  }
};

class Page {
 public:
  Page(const TopView& view, const TopFacts& facts, ScreenSize size, TerminalText terminal)
      : view_(view),
        state_(view.state ? *view.state : nobody_),
        facts_(facts),
        size_(size),
        terminal_(terminal),
        server_(facts, view.before, size.columns, terminal),
        list_(LocksInOrder(facts.locks, state_.part)) {
    picture_.window = state_.window;
  }

  TopPicture Drawn() {
    Append({server_.Title()}, picture_.lines);
    DrawnLines below = Sentence();
    Append(LastLine(), below);
    if (view_.state && state_.mode == Mode::kHelp) {
      DrawHelp();
    } else if (!facts_.info.empty()) {
      DrawAll(below.size());
    }
    // Facts that may be outdated are faint.
    for (ScreenLine& line : picture_.lines) {
      const bool is_marked = line.tone == Tone::kTitle || line.tone == Tone::kSelected;
      if (!view_.trouble.empty() && !is_marked) line.tone = Tone::kFaint;
    }
    // Sentences stand at the same place whatever is above; a page ends where its text does.
    const size_t room = size_.rows - std::min(size_.rows, below.size());
    if (view_.state || picture_.lines.size() > room) picture_.lines.resize(room);
    Append(std::move(below), picture_.lines);
    return std::move(picture_);
  }

 private:
  RowText Row() const { return RowText(size_.columns, terminal_); }
  size_t SelectedAt() const { return std::min(state_.selected_at, list_.size() - 1); }
  size_t RowsOfTable() const;
  void DrawAll(size_t rows_below);
  DrawnLines Table(size_t rows);
  ScreenLine More() const;
  void DrawHelp();
  DrawnLines Sentence() const;
  DrawnLines LastLine() const;

  const TopState nobody_;
  const TopView& view_;
  const TopState& state_;
  const TopFacts& facts_;
  const ScreenSize size_;
  const TerminalText terminal_;
  const ServerLines server_;
  const LockList list_;
  TopPicture picture_;
};

// --- the table and what is around it

// With its title, if there were no end of room.
size_t Page::RowsOfTable() const {
  if (list_.empty() && state_.part.empty()) return 0;
  size_t rows = 1 + (!state_.part.empty() || !facts_.has_all_locks);
  for (const LockFacts* const lock : list_) rows += RowsOf(*lock);
  return rows;
}

void Page::DrawAll(size_t rows_below) {
  DrawnLines bar = server_.LocksBar();
  const size_t taken = picture_.lines.size() + bar.size() + rows_below;
  const size_t room = size_.rows - std::min(size_.rows, taken);
  const size_t wanted = std::min({RowsOfTable(), room, std::max<size_t>(size_.rows / 2, 3)});
  Surroundings around{
      .clients = server_.Clients(),
      .turns = server_.Turns(),
      .disk = server_.Disk(),
      .limits = server_.LimitsBar(),
      .algorithms = server_.Algorithms(),
      .slow = server_.Slow(size_.rows < kRowsForMoreSlow ? kSlowShown : kMoreSlowShown)};
  around.FitIn(room - wanted);
  const size_t rows_of_table = room - around.rows();
  for (DrawnLines* const lines :
       {&around.clients, &around.turns, &around.disk, &around.limits, &around.algorithms, &bar})
    Append(std::move(*lines), picture_.lines);
  Append(Table(rows_of_table), picture_.lines);
  Append(std::move(around.slow), picture_.lines);
}

DrawnLines Page::Table(size_t rows) {
  if (RowsOfTable() == 0 || rows < 2) return {};
  // The title, a lock, and only then the line on those that are hidden.
  const bool has_more =
      rows > 2 && (RowsOfTable() > rows || !state_.part.empty() || !facts_.has_all_locks);
  const size_t rows_of_locks = rows - 1 - has_more;
  const LockWindow window = WindowOn(list_, state_.selected_at, state_.window.first, rows_of_locks);
  picture_.window = window;
  LockTableView table{.locks = std::span(list_).subspan(window.first, window.count),
                      .rows = 1 + rows_of_locks,
                      .columns = size_.columns};
  if (view_.state) table.selected = list_.empty() ? 0 : SelectedAt() - window.first;
  DrawnLines lines = LockTable(table, terminal_);
  if (has_more) lines.push_back(More());
  return lines;
}

// Which names are shown, how many are out of view, and whether there are others.
ScreenLine Page::More() const {
  const auto count = [](size_t n) { return CountText(static_cast<int64_t>(n)); };
  std::vector<std::string> parts;
  const size_t above = picture_.window.first;
  const size_t below = list_.size() - above - picture_.window.count;
  parts.push_back(Concat(count(above), " above, ", count(below), " below"));
  const std::string_view why = facts_.is_listing ? " listed so far" : " listed, / finds others";
  if (!facts_.has_all_locks) parts.push_back(Concat(count(facts_.locks.size()), why));
  if (!state_.part.empty()) parts.push_back(Concat(count(list_.size()), " with ", state_.part));
  RowText row = Row();
  row.Add("  ");
  for (const std::string& part : parts)
    row.Add(&part == &parts.front() ? "" : "   ").Name(part, row.left());
  return {row.Take(), Tone::kFaint};
}

// --- below

void Page::DrawHelp() {
  for (const auto& [keys, meaning] : kHelpLines)
    picture_.lines.push_back({Row().Cell("", 1).Cell(keys, kHelpKeyColumns).Add(meaning).Take()});
}

// A question, a letter that is typed, what has come of a key, or the selected lock in full.
DrawnLines Page::Sentence() const {
  if (!view_.state || facts_.info.empty() || state_.mode == Mode::kHelp) return {};
  std::string text;
  Tone tone = Tone::kPlain;
  if (state_.mode == Mode::kQuestion) {
    text = QuestionText(state_.order);
    tone = Tone::kWarning;
  } else if (state_.mode == Mode::kSearch) {
    text = Concat("/", state_.part, "_");
  } else if (!state_.message.empty()) {
    text = state_.message;
    tone = state_.is_message_bad ? Tone::kBad : Tone::kPlain;
  } else if (!list_.empty()) {
    const LockFacts& lock = *list_[SelectedAt()];
    text = lock.name;
    const std::string holder = HolderText(lock);
    if (!holder.empty()) ConcatTo(text, ", held by ", holder);
  }
  const size_t rows = std::clamp<size_t>(size_.rows / kRowsForASentence, 1, kSentenceRowsMax);
  DrawnLines lines;
  for (std::string& line : ShownLines(text, size_.columns, rows, terminal_))
    lines.push_back({std::move(line), tone});
  return lines;
}

// The trouble, the note on missing facts, or the keys there are.
DrawnLines Page::LastLine() const {
  DrawnLines lines;
  if (!view_.trouble.empty()) {
    for (std::string& line : ShownLines(view_.trouble, size_.columns, 2, terminal_))
      lines.push_back({std::move(line), Tone::kBad});
    return lines;
  }
  std::string_view text = facts_.note;
  if (text.empty() && view_.state) {
    text = state_.mode == Mode::kSearch ? kKeysInSearch : kKeys;
    if (state_.mode == Mode::kHelp) text = "any key goes back";
    if (!Fits(text, size_.columns, terminal_)) text = kKeysInShort;
  }
  if (!text.empty())
    lines.push_back({Row().Name(text, size_.columns).Take(),
                     facts_.note.empty() ? Tone::kFaint : Tone::kWarning});
  return lines;
}

}  // namespace

TopPicture Draw(const TopView& view, ScreenSize size, TerminalText terminal) {
  size.columns = std::max(size.columns, ScreenSize::kColumnsLeast);
  size.rows = std::max(size.rows, ScreenSize::kRowsLeast);
  const TopFacts nothing;
  return Page(view, view.now ? *view.now : nothing, size, terminal).Drawn();
}

}  // namespace sluice
