// MetricText: figures as Prometheus reads them, in either of its two forms, which differ in where
// the ending of a counter's name stands and in how the text ends.
//
//   MetricText text(MetricText::Form::kOpenMetrics);
//   text.Begin("sluice_limit_decisions", MetricText::Kind::kCounter, "What limiters decided.");
//   text.Value({{"algorithm", "gcra"}, {"decision", "taken"}}, 17);
//   text.Finish()
//     # HELP sluice_limit_decisions What limiters decided.
//     # TYPE sluice_limit_decisions counter
//     sluice_limit_decisions_total{algorithm="gcra",decision="taken"} 17
//     # EOF
//
// Names are ours and are written as they are. Values of labels may be any bytes: what is no UTF-8
// is replaced.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "server/observe/histogram.h"

namespace sluice {

// Histograms are kept in µs or ms, and shown in seconds.
inline constexpr double kMicro = 1e-6;
inline constexpr double kMilli = 1e-3;
// Bounds that suit what is to be done within a turn or a few.
inline constexpr int64_t kShortBoundsUs[] = {50,   100,  250,    500,    1000,
                                             2500, 5000, 10'000, 50'000, 250'000};

class MetricText {
 public:
  enum class Form : uint8_t { kPrometheus, kOpenMetrics };
  enum class Kind : uint8_t { kGauge, kCounter, kHistogram };
  struct Label {
    std::string_view name;
    std::string_view value;
  };

  explicit MetricText(Form form) : form_(form) { text_.reserve(32 * 1024); }

  // A family; all its values follow at once. `name` is that of a counter without "_total". `help`
  // is one line, without backslashes.
  void Begin(std::string_view name, Kind kind, std::string_view help);
  void Value(std::initializer_list<Label> labels, double value);
  void Value(double value) { Value({}, value); }
  // How a family of histograms is shown. `bounds` are those of its buckets, in the unit of the
  // histogram; times `scale` they are what is shown.
  struct Buckets {
    std::span<const int64_t> bounds;
    double scale;
  };
  // One histogram of the family: its buckets, sum and count.
  void Value(std::initializer_list<Label> labels, const Histogram& histogram,
             const Buckets& buckets);
  void Value(const Histogram& histogram, std::span<const int64_t> bounds, double scale) {
    Value({}, histogram, {bounds, scale});
  }
  // The text is done.
  std::string Finish();

 private:
  void Name(std::string_view ending, std::initializer_list<Label> labels,
            std::string_view bound = {});

  const Form form_;
  std::string text_;
  std::string name_;  // of values
};

}  // namespace sluice
