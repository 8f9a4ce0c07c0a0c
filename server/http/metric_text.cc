// See metric_text.h.
#include "server/http/metric_text.h"

#include <charconv>
#include <cmath>

#include "protocol/text/concat.h"
#include "protocol/text/utf8.h"

namespace sluice {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view kKinds[] = {"gauge", "counter", "histogram"};

void AppendEscaped(std::string& text, std::string_view value) {
  while (!value.empty()) {
    const size_t length = CharacterLength(value);
    const std::string_view character = value.substr(0, length);
    if (length == 0) {
      text += kReplacement;
    } else if (character == "\\" || character == "\"") {
      ConcatTo(text, '\\', character);
    } else if (character == "\n") {
      text += "\\n";
    } else {
      text += character;
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

void MetricText::Begin(std::string_view name, Kind kind, std::string_view help) {
  const std::string_view ending = kind == Kind::kCounter ? "_total" : "";
  name_ = Concat(name, ending);
  const std::string_view family = form_ == Form::kOpenMetrics ? name : std::string_view(name_);
  ConcatTo(text_, "# HELP ", family, ' ', help, "\n# TYPE ", family, ' ',
           kKinds[static_cast<size_t>(kind)], '\n');
}

void MetricText::Value(std::initializer_list<Label> labels, double value) {
  text_ += name_;
  char before = '{';
  for (const Label& label : labels) {
    ConcatTo(text_, before, label.name, "=\"");
    AppendEscaped(text_, label.value);
    text_ += '"';
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += ' ';
  Number(value);
  text_ += '\n';
}

// The shortest that reads back as the same number.
void MetricText::Number(double value) {
  if (std::isnan(value)) value = 0;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  text_.append(digits, end.ptr);
}

void MetricText::Add(std::string_view name, std::string_view help, const Histogram& histogram,
                     std::span<const int64_t> bounds, double scale) {
  Begin(name, Kind::kHistogram, help);
  for (const int64_t bound : bounds) {
    ConcatTo(text_, name, "_bucket{le=\"");
    Number(static_cast<double>(bound) * scale);
    ConcatTo(text_, "\"} ", histogram.CountAtMost(bound), '\n');
  }
  ConcatTo(text_, name, "_bucket{le=\"+Inf\"} ", histogram.count(), '\n', name, "_sum ");
  Number(static_cast<double>(histogram.sum()) * scale);
  ConcatTo(text_, '\n', name, "_count ", histogram.count(), '\n');
}

std::string MetricText::Finish() {
  if (form_ == Form::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace sluice
