// Figure: one thing that the server tells of itself, a row each. It says where the figure is shown
// (a field of INFO, a metric of /metrics, a plot of the page), what it means, and how it is read.
//
//   {"expired_keys", "", "keys whose time was over", Of<&Statistics::expired_keys>,
//    Counter("redis_expired_keys", "Keys whose time was over.")},
//
// INFO, /metrics, the page's plots and `sluice --print-info` (docs/info.md) are made from these
// rows. They stand in the order of INFO, in a file of *_figures.cc for each few sections.
//
// Names and order of fields are an interface: monitoring systems parse them. A field stays even if
// Sluice has nothing to count there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include "server/figures/figure_sources.h"
#include "server/figures/figure_value.h"
#include "server/figures/info_text.h"
#include "server/figures/metric_text.h"

namespace sluice {

using From = FigureSources&;

// How a figure is read: a function of its sources. Where INFO has a line for each command, error or
// database, the function writes these lines.
class FigureReading {
 public:
  using Value = FigureValue (*)(From from);
  using Lines = void (*)(From from, InfoText& text);

  constexpr FigureReading() = default;
  constexpr FigureReading(Value value) : value_(value) {}
  constexpr FigureReading(Lines lines) : lines_(lines) {}
  // A lambda whose result a FigureValue is made of.
  template <typename Function>
  requires std::is_class_v<Function> && std::is_invocable_v<Function, From>
  constexpr FigureReading(Function)
      : value_([](From from) -> FigureValue { return Function{}(from); }) {}

  // Requires: it is no reading of lines.
  FigureValue Read(From from) const { return value_(from); }
  void Write(std::string_view name, From from, InfoText& text) const {
    if (lines_) return lines_(from, text);
    text.Field(name, Read(from).text());
  }

 private:
  Value value_ = nullptr;
  Lines lines_ = nullptr;
};

struct Metric {
  using Write = void (*)(From from, MetricText& text);

  std::string_view name;  // of a counter without "_total"; empty: there is none
  MetricText::Kind kind = MetricText::Kind::kGauge;
  std::string_view help;
  // Writes the values of a family with labels or buckets, and one that INFO shows in another form.
  // Null: the figure is its only value.
  Write write = nullptr;
};
inline constexpr Metric kNoMetric = {};
constexpr Metric Gauge(std::string_view name, std::string_view help,
                       Metric::Write write = nullptr) {
  return {name, MetricText::Kind::kGauge, help, write};
}
constexpr Metric Counter(std::string_view name, std::string_view help,
                         Metric::Write write = nullptr) {
  return {name, MetricText::Kind::kCounter, help, write};
}
constexpr Metric Buckets(std::string_view name, std::string_view help, Metric::Write write) {
  return {name, MetricText::Kind::kHistogram, help, write};
}

// Plots of the page, in the order in which it is told of them.
enum class Plot : uint8_t {
  kCommands,
  kTaken,
  kRefused,
  kGranted,
  kClients,
  kMemory,
  kLocks,
  kWaiters,
  kNone
};
inline constexpr size_t kPlots = static_cast<size_t>(Plot::kNone);

struct Figure {
  // The field of INFO. A `*` at the end of a name stands for what is counted by command, by error,
  // by database or by algorithm. Empty: INFO does not show it.
  std::string_view name;
  std::string_view unit;     // empty: it is a number of things, or a word
  std::string_view meaning;  // says so if the field counts nothing and is only kept for monitors
  FigureReading read;
  Metric metric;
  Plot plot = Plot::kNone;
  bool (*only)(From from) = nullptr;  // INFO has the field while this is true; null: always

  void WriteField(From from, InfoText& text) const {
    if (!name.empty() && (only == nullptr || only(from))) read.Write(name, from, text);
  }
  void WriteMetric(From from, MetricText& text) const {
    text.Begin(metric.name, metric.kind, metric.help);
    if (metric.write) return metric.write(from, text);
    text.Value(read.Read(from).number());
  }
};

// --- readings that many rows have in common

namespace figure_internal {
template <typename Part, typename Member>
Part& OwnerOf(Member Part::*);

template <auto first, auto... rest>
FigureValue Follow(auto& from) {
  auto&& found = std::invoke(first, from);
  if constexpr (sizeof...(rest) == 0) {
    return found;
  } else {
    return Follow<rest...>(found);
  }
}
}  // namespace figure_internal

// Follows members from a part on, which is the class of the first, or from the sources themselves.
//   Of<&LockService::counts, &LockCounts::granted>
template <auto first, auto... rest>
FigureValue Of(From from) {
  using Part = std::remove_reference_t<decltype(figure_internal::OwnerOf(first))>;
  if constexpr (std::is_same_v<Part, FigureSources>) {
    return figure_internal::Follow<first, rest...>(from);
  } else {
    return figure_internal::Follow<first, rest...>(from.Get<Part>());
  }
}
// The same number for people.
template <FigureValue (*bytes)(From from)>
FigureValue Human(From from) {
  return HumanText(static_cast<uint64_t>(bytes(from).number()));
}
// A counter of what never happens here.
inline FigureValue Zero(From) { return 0; }

// A row whose field is only there in some states of the server.
constexpr Figure Only(bool (*when)(From from), Figure figure) {
  figure.only = when;
  return figure;
}

}  // namespace sluice
