// See keys.h.
#include "server/program/top/keys.h"

#include <algorithm>
#include <optional>

namespace sluice {
namespace {

using Kind = Key::Kind;

constexpr char kEscapeByte = 27, kLastControl = 31;
// A sequence that goes on for longer is none that a key sends.
constexpr size_t kSequenceBytesMax = 32;

constexpr struct {
  char byte;
  Kind kind;
} kControls[] = {{3, Kind::kInterrupt},  {8, Kind::kBackspace}, {10, Kind::kEnter},
                 {12, Kind::kRedraw},    {13, Kind::kEnter},    {26, Kind::kStop},
                 {127, Kind::kBackspace}};

// What stands behind "ESC [" or "ESC O". Keys of the keypad have several.
constexpr struct {
  std::string_view sequence;
  Kind kind;
} kSequences[] = {{"A", Kind::kUp},       {"B", Kind::kDown},  {"H", Kind::kHome},
                  {"F", Kind::kEnd},      {"1~", Kind::kHome}, {"7~", Kind::kHome},
                  {"4~", Kind::kEnd},     {"8~", Kind::kEnd},  {"5~", Kind::kPageUp},
                  {"6~", Kind::kPageDown}};

template <typename Rows, typename Wanted, typename Member>
Kind KindIn(const Rows& rows, const Wanted& wanted, Member member) {
  const auto* const found = std::ranges::find(rows, wanted, member);
  return found == std::end(rows) ? Kind::kOther : found->kind;
}

struct FoundKey {
  Key key;
  size_t length;
};

// Null: more bytes are needed to tell.
//   ESC [ parameters letter        ESC O letter        ESC letter
std::optional<FoundKey> FindSequence(std::string_view bytes) {
  if (bytes.size() < 2) return std::nullopt;
  if (bytes[1] == kEscapeByte) return FoundKey{{Kind::kEscape}, 1};
  if (bytes[1] != '[' && bytes[1] != 'O') return FoundKey{{Kind::kOther}, 2};
  const auto is_last = [](char c) { return c >= '@' && c <= '~'; };
  const auto* const last = std::ranges::find_if(bytes.begin() + 2, bytes.end(), is_last);
  if (last == bytes.end()) {
    if (bytes.size() < kSequenceBytesMax) return std::nullopt;
    return FoundKey{{Kind::kOther}, bytes.size()};
  }
  const size_t length = static_cast<size_t>(last - bytes.begin()) + 1;
  const Kind kind =
      KindIn(kSequences, bytes.substr(2, length - 2), [](const auto& row) { return row.sequence; });
  return FoundKey{{kind}, length};
}

// Of UTF-8, by its first byte; 1 for what is none.
size_t LengthOfCharacter(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

std::optional<FoundKey> FindCharacter(std::string_view bytes) {
  const size_t length = LengthOfCharacter(bytes[0]);
  const auto is_inside = [](char c) { return (c & 0xc0) == 0x80; };
  size_t whole = 1;
  while (whole < std::min(length, bytes.size()) && is_inside(bytes[whole])) ++whole;
  if (whole == bytes.size() && whole < length) return std::nullopt;
  if (whole < length || is_inside(bytes[0])) return FoundKey{{Kind::kOther}, whole};
  return FoundKey{{Kind::kText, std::string(bytes.substr(0, length))}, length};
}

std::optional<FoundKey> FindKey(std::string_view bytes) {
  const char first = bytes[0];
  if (first == kEscapeByte) return FindSequence(bytes);
  const bool is_control = (first >= 0 && first <= kLastControl) || first == 127;
  if (!is_control) return FindCharacter(bytes);
  return FoundKey{{KindIn(kControls, first, [](const auto& row) { return row.byte; })}, 1};
}

}  // namespace

std::vector<Key> KeyReader::Read(std::string_view bytes) {
  begun_ += bytes;
  std::vector<Key> keys;
  while (!begun_.empty()) {
    std::optional<FoundKey> found = FindKey(begun_);
    if (!found) break;
    keys.push_back(std::move(found->key));
    begun_.erase(0, found->length);
  }
  return keys;
}

std::vector<Key> KeyReader::End() {
  std::vector<Key> keys;
  if (is_awaiting())
    keys.push_back({begun_.size() == 1 && begun_[0] == kEscapeByte ? Kind::kEscape : Kind::kOther});
  begun_.clear();
  return keys;
}

}  // namespace sluice
