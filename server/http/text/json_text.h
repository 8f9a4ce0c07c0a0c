// JsonText: writes JSON, value after value; commas come by themselves.
//
//   JsonText json;
//   json.Object().Field("held", 3).Key("locks").Array();
//   for (...) json.Object().Field("name", text).End();
//   json.End().End();
//   json.Take()      {"held":3,"locks":[{"name":"a"}]}
//
// Names of fields are ours and are written as they are. Texts have to be UTF-8: what came from
// elsewhere is made so by ShownName (shown_name.h). '<' is written as an escape, so that no answer
// is HTML, whatever a reader takes it for.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {

class JsonText {
 public:
  JsonText& Object() { return Open('{', '}'); }
  JsonText& Array() { return Open('[', ']'); }
  JsonText& End();  // of what was opened last
  JsonText& Key(std::string_view name);

  JsonText& Value(std::string_view text);
  JsonText& Value(const char* text) { return Value(std::string_view(text)); }
  JsonText& Value(double number);  // the shortest form; what is no number is 0
  JsonText& Value(bool flag);
  template <std::integral T>
  JsonText& Value(T number) {
    Separate();
    ConcatTo(text_, number);
    return *this;
  }

  template <typename T>
  JsonText& Field(std::string_view name, const T& value) {
    return Key(name).Value(value);
  }

  size_t size() const { return text_.size(); }
  // Requires: all is ended.
  std::string Take();

 private:
  JsonText& Open(char begin, char end);
  void Separate();

  std::string text_;
  std::string ends_;  // of what is open
};

}  // namespace sluice
