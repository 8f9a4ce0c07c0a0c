// Terminal: the screen and the keys of a person, and the signals that are for them. While it lives
// the terminal shows a screen of its own, keys come as they are struck, and what was there before
// comes back when it ends, by a key or a signal (SIGINT, SIGTERM, SIGHUP, SIGQUIT), and while the
// program is stopped, by Ctrl-Z or SIGTSTP.
//
// Signals are read from a descriptor and interrupt nothing. They are blocked in this thread, so
// that it must be made before any other thread is.
#pragma once

#include <signal.h>
#include <termios.h>

#include <string>
#include <vector>

#include "server/program/top/drawing.h"
#include "server/program/top/keys.h"

namespace sluice {

// Wishes of the environment: whether text may have colours (NO_COLOR), and UTF-8 (LC_ALL, LC_CTYPE,
// LANG).
bool WantsColours();
TerminalText TextOfTerminal();

// Lines as bytes of a terminal, each ended; `behind` stands before a line's end.
std::string Coloured(const std::vector<ScreenLine>& lines, bool has_colours,
                     std::string_view behind);

class Terminal {
 public:
  struct Events {
    std::vector<Key> keys;
    bool is_over = false;     // a signal wants an end, or the terminal has gone
    bool is_changed = false;  // what it shows has to be drawn anew
  };

  // Whether standard input and output are one that can be drawn on.
  static bool IsThere();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  // A sentence why it cannot be used, or empty.
  const std::string& fault() const { return fault_; }

  // Can be read when there is an event. It is the terminal's.
  int descriptor() const { return epoll_; }
  // The events since the last call. Waits no longer than for the rest of a key that has begun.
  Events Read();
  // Gives the terminal back and stops, as Ctrl-Z does; returns when the shell lets it go on.
  void Stop();
  ScreenSize size() const;
  void Show(const std::vector<ScreenLine>& lines);

 private:
  std::string Open();
  std::string Enter();
  void Leave();
  void ReadSignals(Events& events);
  void ReadKeys(Events& events);

  const bool has_colours_ = WantsColours();
  int epoll_ = -1;
  int signals_ = -1;
  sigset_t signals_before_ = {};
  termios before_ = {};
  bool is_entered_ = false;
  KeyReader keys_;
  std::string fault_;
};

}  // namespace sluice
