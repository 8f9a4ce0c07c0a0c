// See figure_value.h.
#include "server/figures/figure_value.h"

#include <charconv>

namespace sluice {

// The buffer is for the numbers of INFO, which are far below 10^50.
std::string FixedText(double value, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return std::string(text, end.ptr);
}

std::string RatioText(uint64_t a, uint64_t b) {
  return FixedText(b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b), 2);
}

std::string HumanText(uint64_t bytes) {
  constexpr char kUnits[] = "KMGTP";
  std::string human = Concat(bytes, 'B');
  double scaled = static_cast<double>(bytes);
  for (int unit = 0; scaled >= 1024 && kUnits[unit]; ++unit) {
    scaled /= 1024;
    human = Concat(FixedText(scaled, 2), kUnits[unit]);
  }
  return human;
}

std::string ShortText(double value) {
  std::string text = FixedText(value, 6);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string SafeName(std::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (c == '#' || c == ':' || c == '\n' || c == '\r') c = '_';
  }
  return safe;
}

}  // namespace sluice
