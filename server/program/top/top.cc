// See top.h.
#include "server/program/top/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
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

using Event = Terminal::Event;

// A page that is printed shows all that was looked at.
constexpr size_t kPageRows = 1000;
constexpr size_t kPageColumns = 80;
constexpr size_t kPageColumnsMax = 500;
constexpr std::string_view kKeys = "q quits, space looks again";

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
  if (const std::string fault = source.Look(facts); !fault.empty()) return Fail(errors, fault);
  const bool has_colours = ::isatty(STDOUT_FILENO) && WantsColours();
  std::vector<ScreenLine> lines =
      Draw({.now = &facts}, {PageColumns(), kPageRows}, TextOfTerminal());
  for (ScreenLine& line : lines) {  // a bar that has no colour needs no end
    if (!has_colours) line.text.erase(line.text.find_last_not_of(' ') + 1);
  }
  const std::string page = Coloured(lines, has_colours, "\n");
  std::fwrite(page.data(), 1, page.size(), out);
  return std::fflush(out) == 0 ? 0 : Fail(errors, "the page cannot be written");
}

// The server and the terminal, one beside the other: what a person does is heard while the server
// has not answered yet.
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
      Look();
      if (!is_left_ && !refusal_.empty()) return refusal_;
      Show();
      for (next_ms_ = NowMs() + order_.every_ms; !is_left_ && NowMs() < next_ms_;) Wait();
    }
    return {};
  }

 private:
  void Look() {
    TopFacts facts;
    facts.at_ms = NowMs();
    std::string fault = source_.Look(facts);
    if (is_left_) return;
    if (fault.empty()) {
      before_ = std::exchange(now_, std::move(facts));
      trouble_.clear();
      return;
    }
    if (!now_ || source_.is_refused()) refusal_ = fault;
    before_.reset();  // what is counted may begin anew
    trouble_ = Concat(fault, "; trying again");
  }

  void Show() {
    const TopView view{.now = now_ ? &*now_ : nullptr,
                       .before = before_ ? &*before_ : nullptr,
                       .trouble = trouble_,
                       .keys = kKeys};
    terminal_.Show(Draw(view, terminal_.size(), text_));
  }

  void Hear() {
    const Event event = terminal_.Read();
    if (event == Event::kQuit) is_left_ = true;
    if (event == Event::kLook) next_ms_ = 0;
    if (event == Event::kResized) Show();
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
  std::optional<TopFacts> now_, before_;
  std::string trouble_;
  std::string refusal_;
  int64_t next_ms_ = 0;
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
