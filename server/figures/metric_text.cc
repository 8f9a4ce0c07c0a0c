// See metric_text.h.
#include "server/figures/metric_text.h"

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

// The shortest that reads back as the same number.
std::string NumberText(double value) {
  if (std::isnan(value)) value = 0;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

}  // namespace

void MetricText::Begin(std::string_view name, Kind kind, std::string_view help) {
  const std::string_view ending = kind == Kind::kCounter ? "_total" : "";
  name_ = Concat(name, ending);
  const std::string_view family = form_ == Form::kOpenMetrics ? name : std::string_view(name_);
  ConcatTo(text_, "# HELP ", family, ' ', help, "\n# TYPE ", family, ' ',
           kKinds[static_cast<size_t>(kind)], '\n');
}

// The name of a value, and the space behind it. `bound`: that of a bucket; empty: it is none.
void MetricText::Name(std::string_view ending, std::initializer_list<Label> labels,
                      std::string_view bound) {
  ConcatTo(text_, name_, ending);
  char before = '{';
  const auto add = [&](const Label& label) {
    ConcatTo(text_, before, label.name, "=\"");
    AppendEscaped(text_, label.value);
    text_ += '"';
    before = ',';
  };
  for (const Label& label : labels) add(label);
  if (!bound.empty()) add({"le", bound});
  text_ += before == ',' ? "} " : " ";
}

void MetricText::Value(std::initializer_list<Label> labels, double value) {
  Name("", labels);
  ConcatTo(text_, NumberText(value), '\n');
}

void MetricText::Value(std::initializer_list<Label> labels, const Histogram& histogram,
                       const Buckets& buckets) {
  const auto scaled = [&](auto value) {
    return NumberText(static_cast<double>(value) * buckets.scale);
  };
  for (const int64_t bound : buckets.bounds) {
    Name("_bucket", labels, scaled(bound));
    ConcatTo(text_, histogram.CountAtMost(bound), '\n');
  }
  Name("_bucket", labels, "+Inf");
  ConcatTo(text_, histogram.count(), '\n');
  Name("_sum", labels);
  ConcatTo(text_, scaled(histogram.sum()), '\n');
  Name("_count", labels);
  ConcatTo(text_, histogram.count(), '\n');
}

std::string MetricText::Finish() {
  if (form_ == Form::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace sluice
