// See terminal.h. The bytes are those that every terminal since the VT100 takes; no description of
// terminals is asked.
#include "server/program/top/terminal.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"

namespace sluice {
namespace {

// The other screen, no cursor, no lines that go on below; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearToEnd = "\x1b[J";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kToneEnds = "\x1b[0m";

// By Tone.
constexpr std::string_view kTones[] = {"",         "\x1b[7m",    "\x1b[2m",
                                       "\x1b[33m", "\x1b[1;31m", "\x1b[1;7m"};

// A key of several bytes arrives in one piece, or in two over a slow line.
constexpr int kRestOfKeyMs = 50;

std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : std::string_view();
}

// Waits for as long as the terminal is held (Ctrl-S), as every program does.
void WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd one = {.fd = STDOUT_FILENO, .events = POLLOUT};
      ::poll(&one, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

bool WantsColours() { return Environment("NO_COLOR").empty(); }

TerminalText TextOfTerminal() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = Environment(name);
    if (value.empty()) continue;
    const std::string_view coding = value.substr(std::min(value.find('.'), value.size()));
    const bool is_utf8 = IsSameInAnyCase(coding.substr(0, 6), ".UTF-8") ||
                         IsSameInAnyCase(coding.substr(0, 5), ".UTF8");
    return is_utf8 ? TerminalText::kUtf8 : TerminalText::kAscii;
  }
  return TerminalText::kAscii;
}

std::string Coloured(const std::vector<ScreenLine>& lines, bool has_colours,
                     std::string_view behind) {
  std::string all;
  for (const ScreenLine& line : lines) {
    const std::string_view tone = has_colours ? kTones[static_cast<size_t>(line.tone)] : "";
    ConcatTo(all, tone, line.text, tone.empty() ? "" : kToneEnds, behind);
  }
  return all;
}

bool Terminal::IsThere() {
  const std::string_view kind = Environment("TERM");
  return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO) && !kind.empty() && kind != "dumb";
}

// --- its begin and end

Terminal::Terminal() {
  fault_ = Open();
  if (fault_.empty()) fault_ = Enter();
}

Terminal::~Terminal() {
  Leave();
  if (signals_ >= 0) {
    ::close(signals_);
    ::pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

std::string Terminal::Open() {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH})
    ::sigaddset(&ours, signal);
  ::pthread_sigmask(SIG_BLOCK, &ours, &signals_before_);
  signals_ = ::signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int descriptor : {STDIN_FILENO, signals_}) {
    epoll_event event = {.events = EPOLLIN};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0)
      return Concat("can't wait for keys: ", std::strerror(errno));
  }
  return {};
}

// Ctrl-C and Ctrl-Z come as keys, so that the terminal is given back first.
std::string Terminal::Enter() {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0)
    return Concat("can't use the terminal: ", std::strerror(errno));
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
  raw.c_cc[VMIN] = 0;  // a read never waits
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
    return Concat("can't use the terminal: ", std::strerror(errno));
  is_entered_ = true;
  WriteAll(kEnter);
  return {};
}

void Terminal::Leave() {
  if (!is_entered_) return;
  is_entered_ = false;
  WriteAll(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Terminal::Stop() {
  Leave();
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::kill(0, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // it stops here
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  Enter();
}

// --- events

Terminal::Events Terminal::Read() {
  Events events;
  ReadSignals(events);
  ReadKeys(events);
  return events;
}

void Terminal::ReadSignals(Events& events) {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTSTP) Stop();
    if (signal == SIGTSTP || signal == SIGWINCH) {
      events.is_changed = true;
    } else {
      events.is_over = true;
    }
  }
}

// A readable terminal without bytes is one that has gone.
void Terminal::ReadKeys(Events& events) {
  pollfd one = {.fd = STDIN_FILENO, .events = POLLIN};
  while (::poll(&one, 1, keys_.is_awaiting() ? kRestOfKeyMs : 0) > 0) {
    char bytes[64];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) {
      events.is_over = events.is_over || got == 0 || errno != EINTR;
      break;
    }
    std::ranges::move(keys_.Read({bytes, static_cast<size_t>(got)}),
                      std::back_inserter(events.keys));
    if (!keys_.is_awaiting()) return;
  }
  std::ranges::move(keys_.End(), std::back_inserter(events.keys));
}

// --- the picture

ScreenSize Terminal::size() const {
  winsize found = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0)
    return {};
  return {found.ws_col, found.ws_row};
}

// In one write, so that no half picture is seen. The last line is not ended, which would move all.
void Terminal::Show(const std::vector<ScreenLine>& lines) {
  const std::string end = Concat(kClearLine, "\r\n");
  std::string picture = Coloured(lines, has_colours_, end);
  if (picture.ends_with("\r\n")) picture.resize(picture.size() - 2);
  WriteAll(Concat(kHome, picture, kClearToEnd));
}

}  // namespace sluice
