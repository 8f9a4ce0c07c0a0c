// Concat: one string from pieces of text and integers. (Debian's abseil has a string_view of its
// own, so its StrCat does not take std::string_view.)
//
//   reply.Error(Concat("ERR unknown subcommand '", name, "'."));
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace sluice {

// One overload a kind of piece; integers are formatted on the stack.
namespace concat_internal {
inline void Append(std::string& out, std::string_view piece) { out.append(piece); }
inline void Append(std::string& out, char piece) { out.push_back(piece); }
template <std::integral T>
void Append(std::string& out, T number) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}
}  // namespace concat_internal

template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string out;
  (concat_internal::Append(out, pieces), ...);
  return out;
}

template <typename... Pieces>
void ConcatTo(std::string& out, const Pieces&... pieces) {
  (concat_internal::Append(out, pieces), ...);
}

}  // namespace sluice
