// See safe_text.h.
#include "server/program/top/safe_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr char kCut = '~';

// Code points of a script, or a part of one, that take the same columns each.
struct Shape {
  char32_t first, last;
  size_t columns;
};
constexpr Shape kShapes[] = {
    {0x20, 0x7e, 1},        // ASCII
    {0xa1, 0xac, 1},        // Latin; 0xad is a hyphen that may not be seen
    {0xae, 0x2ff, 1},       //
    {0x370, 0x377, 1},      // Greek
    {0x37b, 0x37f, 1},      //
    {0x384, 0x3ff, 1},      //
    {0x400, 0x482, 1},      // Cyrillic, without what combines
    {0x48a, 0x52f, 1},      //
    {0x531, 0x58a, 1},      // Armenian
    {0x10a0, 0x10ff, 1},    // Georgian
    {0x1100, 0x115f, 2},    // Hangul
    {0x1e00, 0x1fff, 1},    // more Latin and Greek
    {0x2010, 0x2027, 1},    // punctuation; direction marks stand around it
    {0x2030, 0x205e, 1},    //
    {0x2070, 0x209c, 1},    // superscripts
    {0x20a0, 0x20c0, 1},    // currencies
    {0x2100, 0x218b, 1},    // like letters
    {0x2190, 0x21ff, 1},    // arrows
    {0x2200, 0x22ff, 1},    // mathematics
    {0x2500, 0x25fc, 1},    // frames and blocks
    {0x2e80, 0x3029, 2},    // CJK
    {0x3030, 0x303e, 2},    //
    {0x3041, 0x3096, 2},    // Hiragana, without what combines
    {0x309b, 0x33ff, 2},    //
    {0x3400, 0x4dbf, 2},    //
    {0x4e00, 0xa4c6, 2},    //
    {0xac00, 0xd7a3, 2},    // Hangul
    {0xf900, 0xfaff, 2},    //
    {0xff01, 0xff60, 2},    // full width
    {0xffe0, 0xffe6, 2},    //
    {0x1f300, 0x1f3fa, 2},  // pictures, without what colours them
    {0x1f400, 0x1f64f, 2},  //
    {0x1f680, 0x1f6c5, 2},  //
    {0x1f900, 0x1f9ff, 2},  //
    {0x20000, 0x3134a, 2},  // more CJK
};

// The first bits of a byte tell how many follow and which code points may be meant by so many.
struct Lead {
  uint8_t mask, bits;
  size_t length;
  char32_t least;
};
constexpr Lead kLeads[] = {
    {0x80, 0x00, 1, 0x0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

struct CodePoint {
  char32_t value;
  size_t length;
};

// Null: no UTF-8 begins there.
std::optional<CodePoint> Decode(std::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  for (const Lead& lead : kLeads) {
    if ((first & lead.mask) != lead.bits) continue;
    if (bytes.size() < lead.length) return std::nullopt;
    char32_t value = first & static_cast<uint8_t>(~lead.mask);
    for (size_t i = 1; i < lead.length; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      if ((byte & 0xc0) != 0x80) return std::nullopt;
      value = value << 6 | (byte & 0x3f);
    }
    const bool is_half = value >= 0xd800 && value <= 0xdfff;  // of UTF-16
    if (value < lead.least || value > 0x10ffff || is_half) return std::nullopt;
    return CodePoint{value, lead.length};
  }
  return std::nullopt;
}

// 0: it is not shown as it is.
size_t ColumnsOf(char32_t value) {
  const auto* const after = std::ranges::upper_bound(kShapes, value, {}, &Shape::first);
  if (after == std::begin(kShapes)) return 0;
  const Shape& shape = *std::prev(after);
  return value <= shape.last ? shape.columns : 0;
}

std::string ByteText(uint8_t byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

std::string CodeText(char32_t value) {
  std::string digits;
  for (; value != 0; value >>= 4) digits.insert(digits.begin(), kHex[value & 15]);
  return "\\u{" + digits + "}";
}

// One piece of what is shown, which is never cut in two, and how many bytes it stands for.
struct Piece {
  ShownText shown;
  size_t length;
};

Piece NextPiece(std::string_view bytes, TerminalText terminal) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  const std::optional<CodePoint> code = Decode(bytes);
  std::string text;
  if (!code || first < 0x20 || first == 0x7f || first == '\\') {
    text = ByteText(first);
    return {{text, text.size()}, 1};
  }
  const size_t columns = ColumnsOf(code->value);
  const bool is_taken = first < 0x80 || terminal == TerminalText::kUtf8;
  if (columns > 0 && is_taken)
    return {{std::string(bytes.substr(0, code->length)), columns}, code->length};
  text = CodeText(code->value);
  return {{text, text.size()}, code->length};
}

using Pieces = std::vector<ShownText>;

size_t ColumnsOf(const Pieces& pieces) {
  size_t columns = 0;
  for (const ShownText& piece : pieces) columns += piece.columns;
  return columns;
}

std::string TextOf(const Pieces& pieces) {
  std::string text;
  for (const ShownText& piece : pieces) text += piece.text;
  return text;
}

// As many as there is room for; their bytes are taken off.
Pieces TakePieces(std::string_view& bytes, size_t columns_max, TerminalText terminal) {
  Pieces pieces;
  for (size_t left = columns_max; !bytes.empty();) {
    Piece piece = NextPiece(bytes, terminal);
    if (piece.shown.columns > left) break;
    left -= piece.shown.columns;
    pieces.push_back(std::move(piece.shown));
    bytes.remove_prefix(piece.length);
  }
  return pieces;
}

// The last ones, as many as there is room for. No more bytes are looked at than they may have.
Pieces LastPieces(std::string_view bytes, size_t columns_max, TerminalText terminal) {
  constexpr size_t kLengthMax = 4;
  if (bytes.size() > columns_max * kLengthMax)
    bytes.remove_prefix(bytes.size() - columns_max * kLengthMax);
  // The first character may have been cut in two.
  for (size_t i = 1; i < kLengthMax && !bytes.empty() && (bytes[0] & 0xc0) == 0x80; ++i)
    bytes.remove_prefix(1);
  Pieces pieces = TakePieces(bytes, SIZE_MAX, terminal);
  size_t columns = ColumnsOf(pieces);
  auto first = pieces.begin();
  for (; columns > columns_max; ++first) columns -= first->columns;
  pieces.erase(pieces.begin(), first);
  return pieces;
}

// All, or those of both ends and a sign between them.
Pieces NamePieces(std::string_view bytes, size_t columns_max, TerminalText terminal) {
  const bool is_ascii = terminal == TerminalText::kAscii;
  const ShownText gap = is_ascii ? ShownText{"...", 3} : ShownText{"\xe2\x80\xa6", 1};
  std::string_view left = bytes;
  Pieces pieces = TakePieces(left, columns_max, terminal);
  if (left.empty() || columns_max < gap.columns + 2) return pieces;
  const size_t of_tail = (columns_max - gap.columns) / 2;
  pieces = TakePieces(bytes, columns_max - gap.columns - of_tail, terminal);
  pieces.push_back(gap);
  for (ShownText& piece : LastPieces(bytes, of_tail, terminal)) pieces.push_back(std::move(piece));
  return pieces;
}

// Lines of at most so many columns.
std::vector<std::string> Broken(const Pieces& pieces, size_t columns, bool at_spaces) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < pieces.size();) {
    size_t end = at, behind_space = at;
    for (size_t left = columns; end < pieces.size() && pieces[end].columns <= left; ++end) {
      left -= pieces[end].columns;
      if (pieces[end].text == " ") behind_space = end + 1;
    }
    if (end < pieces.size() && at_spaces && behind_space > at) end = behind_space;
    if (end == at) return lines;  // there is no room for a single one
    lines.push_back(TextOf({pieces.begin() + static_cast<ptrdiff_t>(at),
                            pieces.begin() + static_cast<ptrdiff_t>(end)}));
    at = end;
  }
  return lines;
}

}  // namespace

ShownText Shown(std::string_view bytes, size_t columns_max, TerminalText terminal) {
  std::string_view left = bytes;
  Pieces pieces = TakePieces(left, columns_max, terminal);
  if (!left.empty() && columns_max > 0) {
    pieces = TakePieces(bytes, columns_max - 1, terminal);
    pieces.push_back({std::string(1, kCut), 1});
  }
  return {TextOf(pieces), ColumnsOf(pieces)};
}

bool Fits(std::string_view bytes, size_t columns, TerminalText terminal) {
  TakePieces(bytes, columns, terminal);
  return bytes.empty();
}

ShownText ShownName(std::string_view bytes, size_t columns_max, TerminalText terminal) {
  const Pieces pieces = NamePieces(bytes, columns_max, terminal);
  return {TextOf(pieces), ColumnsOf(pieces)};
}

std::vector<std::string> ShownLines(std::string_view bytes, size_t columns, size_t lines_max,
                                    TerminalText terminal) {
  const size_t room = columns * lines_max;
  std::vector<std::string> lines = Broken(NamePieces(bytes, room, terminal), columns, true);
  // A line has a gap at its end where the next piece takes more columns than are left.
  for (size_t less = 0; lines.size() > lines_max && less < room; ++less)
    lines = Broken(NamePieces(bytes, room - less, terminal), columns, false);
  return lines;
}

std::string HarmlessLine(std::string_view text, TerminalText terminal) {
  std::string harmless;
  while (!text.empty()) {
    const Piece piece = NextPiece(text, terminal);
    text.front() == '\\' ? harmless += '\\' : harmless += piece.shown.text;
    text.remove_prefix(piece.length);
  }
  return harmless;
}

std::string HarmlessLines(std::string_view text, TerminalText terminal) {
  std::string harmless;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    harmless += HarmlessLine(text.substr(0, end), terminal);
    if (end == text.npos) break;
    harmless += '\n';
    text.remove_prefix(end + 1);
  }
  return harmless;
}

std::string Cell(std::string_view bytes, size_t columns, TerminalText terminal) {
  ShownText shown = Shown(bytes, columns, terminal);
  shown.text.append(columns - shown.columns, ' ');
  return std::move(shown.text);
}

}  // namespace sluice
