// SafeText: bytes of any kind as text that a terminal shows harmlessly, within a number of columns.
//
// Shown as it is: printable ASCII, and letters and signs of scripts that are written from left to
// right and stand alone, as the tables say. All else is written out, so that nothing moves the
// cursor, turns the direction of writing, or draws over its neighbour:
//
//   ESC [ 2 J       \x1b[2J         a control character is \n, \r, \t or \xNN
//   C3 28           \xc3(           a byte that is no UTF-8 is \xNN
//   U+202E, U+05D0  \u{202e}        direction marks, letters from right to left, combining signs
//   a \ b           a\\b            so that what is written out cannot be imitated
//
// A text that does not fit ends with "~", and a name loses its middle, as its end tells as much as
// its begin: "lock:us…:17", or "lock:u...:17" where the terminal takes no UTF-8. There all but
// ASCII is written out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class TerminalText : bool { kAscii, kUtf8 };

// A text, and the columns that it takes.
struct ShownText {
  std::string text;
  size_t columns = 0;
};

// Looks at no more bytes than may be shown, however long `bytes` is.
ShownText Shown(std::string_view bytes, size_t columns_max, TerminalText terminal);
// Whether Shown shows all of it.
bool Fits(std::string_view bytes, size_t columns, TerminalText terminal);
// The same, but what does not fit loses its middle.
ShownText ShownName(std::string_view bytes, size_t columns_max, TerminalText terminal);
// Lines of at most so many columns, broken behind a space where that takes no more lines than there
// may be. A text that needs more loses its middle.
std::vector<std::string> ShownLines(std::string_view bytes, size_t columns, size_t lines_max,
                                    TerminalText terminal);
// What Shown shows, filled up with spaces to exactly so many columns.
std::string Cell(std::string_view bytes, size_t columns, TerminalText terminal);

// Sentences of ours, with words of a server or a file in them: the same is written out, but for
// backslashes. HarmlessLine writes out line ends, too.
std::string HarmlessLine(std::string_view text, TerminalText terminal);
std::string HarmlessLines(std::string_view text, TerminalText terminal);

}  // namespace sluice
