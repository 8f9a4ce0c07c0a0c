// FigureValue: a figure as it was read: as INFO shows it, and as a number, for /metrics and plots.
//
//   FigureValue(17)                        "17", 17
//   FigureValue("epoll")                   "epoll", 0
//   FigureValue::Fixed(1.5, 2)             "1.50", 1.5
//   FigureValue::WentWell(false)           "err", 0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {

// "%.*f" without a locale.
std::string FixedText(double value, int digits);
// Two digits; 0 where the divisor is, so that no field shows "inf".
std::string RatioText(uint64_t a, uint64_t b);
// "1.49M", as Redis's bytesToHuman: two digits behind the point from a kilobyte on.
std::string HumanText(uint64_t bytes);
// "%f" without the zeros at its end: 99.900000 is "99.9".
std::string ShortText(double value);
// The name of a field without bytes that would break its line, as Redis replaces them.
std::string SafeName(std::string_view name);

class FigureValue {
 public:
  // A row reads what its part has, be it a count, a yes or no, or a text.
  template <std::integral T>
  FigureValue(T number) : text_(Concat(number)), number_(static_cast<double>(number)) {}
  FigureValue(bool is_so) : FigureValue(int{is_so}) {}
  FigureValue(std::string text) : text_(std::move(text)) {}
  FigureValue(std::string_view text) : text_(text) {}
  FigureValue(const char* text) : text_(text) {}

  static FigureValue Fixed(double number, int digits) {
    return {FixedText(number, digits), number};
  }
  // How the last attempt ended, as Redis tells it.
  static FigureValue WentWell(bool did) { return {did ? "ok" : "err", did ? 1.0 : 0.0}; }

  const std::string& text() const { return text_; }
  double number() const { return number_; }

 private:
  FigureValue(std::string text, double number) : text_(std::move(text)), number_(number) {}

  std::string text_;
  double number_ = 0;  // of a text: 0
};

}  // namespace sluice
