// See shown_name.h.
#include "server/http/text/shown_name.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/utf8.h"
#include "server/http/text/base64.h"

namespace sluice {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

struct Range {
  char32_t first;
  char32_t last;
};

// Controls, spaces of other widths, marks of direction, what joins, selects or fills, tags, what
// is for private use: all that a reader would not see, or see elsewhere. In order.
constexpr Range kUnseen[] = {
    {0x0000, 0x001f},   {0x007f, 0x00a0},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c},   {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},
    {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},   {0xe000, 0xf8ff},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
    {0xfffe, 0xffff},   {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    {0xf0000, 0x10ffff}};

// Marks that stand above or below the character before them. In order.
constexpr Range kMarks[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f}};
// So many at one character are a letter, more are a pile that covers other lines.
constexpr int kMarksMax = 2;

template <size_t n>
bool IsIn(const Range (&ranges)[n], char32_t character) {
  const auto after = std::ranges::upper_bound(ranges, character, {}, &Range::first);
  return after != std::begin(ranges) && character <= std::prev(after)->last;
}

void AppendByte(std::string& text, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  ConcatTo(text, "\\x", kHex[value >> 4], kHex[value & 15]);
}

void AppendNumber(std::string& text, char32_t character) {
  text += "\\u{";
  int shift = 20;
  while (shift > 4 && (character >> shift) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) text += kHex[character >> shift & 15];
  text += '}';
}

}  // namespace

std::string ShownText(std::string_view bytes, size_t characters_max) {
  std::string text;
  int marks = 0;
  for (size_t shown = 0; shown < characters_max && !bytes.empty(); ++shown) {
    const size_t length = CharacterLength(bytes);
    const std::string_view character = bytes.substr(0, std::max<size_t>(length, 1));
    const char32_t number = length == 0 ? 0 : CharacterOf(character);
    marks = IsIn(kMarks, number) ? marks + 1 : 0;
    const bool is_unseen = IsIn(kUnseen, number) || marks > kMarksMax;
    if (length <= 1 && is_unseen) {
      AppendByte(text, character[0]);
    } else if (is_unseen) {
      AppendNumber(text, number);
    } else if (character == "\\") {
      text += "\\\\";
    } else {
      text += character;
    }
    bytes.remove_prefix(character.size());
  }
  return text;
}

void WriteName(JsonText& json, std::string_view bytes) {
  json.Object().Field("text", ShownText(bytes)).Field("bytes", bytes.size());
  if (bytes.size() <= kNameBytesMax) json.Field("id", ToBase64Url(bytes));
  json.End();
}

std::optional<std::string> NameOfId(std::string_view id) {
  std::optional<std::string> name = FromBase64(id);
  if (name && name->size() > kNameBytesMax) return std::nullopt;
  return name;
}

}  // namespace sluice
