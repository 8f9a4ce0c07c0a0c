// InfoText: the text of INFO while it is written: "name:value" lines below "# Title" lines.
#pragma once

#include <string>
#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {

class InfoText {
 public:
  // A blank line stands between two sections.
  void Title(std::string_view title) {
    ConcatTo(text_, text_.empty() ? "# " : "\r\n# ", title, "\r\n");
  }
  // Field("db0", "keys=", 1) is written in one piece: the value is joined as given.
  template <typename... Pieces>
  void Field(std::string_view name, const Pieces&... value) {
    ConcatTo(text_, name, ':', value..., "\r\n");
  }
  // The whole text; valid until the next field is written.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace sluice
