// A line of the screen, and how it is put together: cells side by side, of which none goes beyond
// the last column. Texts put in may be any bytes (safe_text.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/program/top/safe_text.h"

namespace sluice {

enum class Tone : uint8_t { kPlain, kTitle, kFaint, kWarning, kBad, kSelected };

struct ScreenLine {
  std::string text;
  Tone tone = Tone::kPlain;
  bool operator==(const ScreenLine&) const = default;
};

class RowText {
 public:
  RowText(size_t columns, TerminalText terminal) : left_(columns), terminal_(terminal) {}

  // As many columns as `bytes` takes, and there are.
  RowText& Add(std::string_view bytes) {
    ShownText shown = Shown(bytes, left_, terminal_);
    text_ += shown.text;
    left_ -= shown.columns;
    return *this;
  }
  // So many columns, as far as there are.
  RowText& Cell(std::string_view bytes, size_t columns) {
    columns = std::min(columns, left_);
    text_ += sluice::Cell(bytes, columns, terminal_);
    left_ -= columns;
    return *this;
  }
  // A name, which loses its middle, not its end, where there is too little room.
  RowText& Name(std::string_view bytes, size_t columns_max) {
    const ShownText shown = ShownName(bytes, std::min(columns_max, left_), terminal_);
    text_ += shown.text;
    left_ -= shown.columns;
    return *this;
  }
  RowText& NameCell(std::string_view bytes, size_t columns) {
    const size_t behind = left_ - std::min(columns, left_);
    Name(bytes, columns);
    return Cell("", left_ - behind);
  }
  size_t left() const { return left_; }
  RowText& Fill() { return Cell("", left_); }
  std::string Take() { return std::move(text_); }

 private:
  size_t left_;
  const TerminalText terminal_;
  std::string text_;
};

}  // namespace sluice
