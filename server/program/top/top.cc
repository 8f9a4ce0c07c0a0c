// See top.h.
#include "server/program/top/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/program/top/drawing.h"
#include "server/program/top/source.h"
#include "server/program/top/terminal.h"

namespace sluice {
namespace {

// A page that is printed shows all that was looked at.
constexpr size_t kPageRows = 1000;
constexpr size_t kPageColumns = 80;
constexpr size_t kPageColumnsMax = 500;
// While the server has not told all names of locks yet.
constexpr int64_t kListingMs = 100;

int64_t NowMs() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

TopTarget TargetOf(const TopOrder& order) {
  return {order.server, order.user, order.password, order.tls, order.database};
}

int Fail(std::FILE* errors, const std::string& fault) {
  std::fprintf(errors, "sluice: %s\n", HarmlessLine(fault, TextOfTerminal()).c_str());
  return 1;
}

// That of the terminal, of COLUMNS, or the usual.
size_t PageColumns() {
  winsize found = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0) return found.ws_col;
  const char* const told = std::getenv("COLUMNS");
  const int64_t columns = ParseInt64(told ? told : "").value_or(kPageColumns);
  return static_cast<size_t>(std::clamp<int64_t>(columns, 1, kPageColumnsMax));
}

int PrintPage(const TopOrder& order, std::FILE* out, std::FILE* errors) {
  TopSource source(TargetOf(order), {});
  TopFacts facts;
  const TopQuery query{.locks_max = kPageRows};
  if (const std::string fault = source.Look(query, facts); !fault.empty())
    return Fail(errors, fault);
  const bool has_colours = ::isatty(STDOUT_FILENO) && WantsColours();
  std::vector<ScreenLine> lines =
      Draw({.now = &facts}, {PageColumns(), kPageRows}, TextOfTerminal()).lines;
  for (ScreenLine& line : lines) {  // a bar that has no colour needs no end
    if (!has_colours) line.text.erase(line.text.find_last_not_of(' ') + 1);
  }
  const std::string page = Coloured(lines, has_colours, "\n");
  std::fwrite(page.data(), 1, page.size(), out);
  return std::fflush(out) == 0 ? 0 : Fail(errors, "the page cannot be written");
}

// The server and the terminal, one beside the other: a person is heard while the server has not
// answered yet.
class Screen {
 public:
  Screen(const TopOrder& order, Terminal& terminal)
      : order_(order),
        terminal_(terminal),
        source_(TargetOf(order), {terminal.descriptor(), [this] {
                                    Hear();
                                    return !is_left_;
                                  }}) {}

  // Until it is left. A sentence: the server was not there at the start, or refuses what is asked.
  std::string Run() {
    Show();
    while (!is_left_) {
      if (wants_break_) Break();
      if (!is_left_) Look();
      if (!is_left_ && !refusal_.empty()) return refusal_;
      Show();
      while (!is_left_ && NowMs() < next_ms_) Wait();
    }
    return {};
  }

 private:
  LockList List() const { return now_ ? LocksInOrder(now_->locks, state_.part) : LockList(); }

  TopQuery Query() const {
    TopQuery query{.part = state_.part, .locks_max = TopSource::kLocksAtOnce};
    const LockList list = List();
    const size_t first = std::min(state_.window.first, list.size());
    const size_t end =
        std::min(first + std::max(state_.window.count, terminal_.size().rows), list.size());
    for (size_t i = first; i < end; ++i) query.in_view.push_back(list[i]->name);
    return query;
  }

  void Look() {
    // A key that is struck meanwhile may want another look behind this one.
    next_ms_ = NowMs() + order_.every_ms;
    TopFacts facts;
    facts.at_ms = NowMs();
    std::string fault = source_.Look(Query(), facts);
    if (is_left_) return;
    if (fault.empty()) {
      if (facts.is_listing) next_ms_ = std::min(next_ms_, NowMs() + kListingMs);
      before_ = std::exchange(now_, std::move(facts));
      trouble_.clear();
      return;
    }
    if (!now_ || source_.is_refused()) refusal_ = fault;
    before_.reset();  // what is counted may begin anew
    trouble_ = Concat(fault, "; trying again");
  }

  void Break() {
    wants_break_ = false;
    const TopSource::Outcome outcome = source_.Break(state_.order);
    state_.message = outcome.sentence;
    state_.is_message_bad = !outcome.is_done;
  }

  void Show() {
    Follow(List(), state_);
    const TopView view{.now = now_ ? &*now_ : nullptr,
                       .before = before_ ? &*before_ : nullptr,
                       .trouble = trouble_,
                       .state = &state_};
    TopPicture picture = Draw(view, terminal_.size(), text_);
    state_.window = picture.window;
    terminal_.Show(picture.lines);
  }

  void Hear() {
    const Terminal::Events events = terminal_.Read();
    if (events.is_over) is_left_ = true;
    for (const Key& key : events.keys) Obey(Press(key, List(), state_));
    if (!is_left_ && (events.is_changed || !events.keys.empty())) Show();
    if (wants_to_see_ && !KnowsWindow()) next_ms_ = 0;
    wants_to_see_ = false;
  }

  bool KnowsWindow() const {
    const LockList list = List();
    const auto window = std::span(list).subspan(state_.window.first, state_.window.count);
    return std::ranges::all_of(
        window, [](const LockFacts* lock) { return lock->is_known || !lock->obstacle.empty(); });
  }

  void Obey(TopWish wish) {
    if (wish == TopWish::kQuit) is_left_ = true;
    if (wish == TopWish::kStop) terminal_.Stop();
    if (wish == TopWish::kBreak) wants_break_ = true;
    if (wish == TopWish::kSee) wants_to_see_ = true;
    if (wish == TopWish::kLook || wish == TopWish::kBreak) next_ms_ = 0;
  }

  void Wait() {
    pollfd one = {.fd = terminal_.descriptor(), .events = POLLIN};
    const int64_t left_ms = std::max<int64_t>(0, next_ms_ - NowMs());
    if (::poll(&one, 1, static_cast<int>(left_ms)) > 0) Hear();
  }

  const TopOrder& order_;
  Terminal& terminal_;
  const TerminalText text_ = TextOfTerminal();
  TopSource source_;
  TopState state_;
  std::optional<TopFacts> now_, before_;
  std::string trouble_;
  std::string refusal_;
  int64_t next_ms_ = 0;
  bool wants_break_ = false;
  bool wants_to_see_ = false;
  bool is_left_ = false;
};

}  // namespace

int Top(const TopOrder& order, std::FILE* out, std::FILE* errors) {
  if (order.once || !Terminal::IsThere()) return PrintPage(order, out, errors);
  std::string fault;
  {
    Terminal terminal;
    fault = terminal.fault();
    if (fault.empty()) fault = Screen(order, terminal).Run();
  }  // the sentence is read where the terminal is a person's again
  return fault.empty() ? 0 : Fail(errors, fault);
}

}  // namespace sluice
