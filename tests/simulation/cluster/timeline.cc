// See timeline.h.
#include "tests/simulation/cluster/timeline.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr size_t kLinesTold = 60;

}  // namespace

int64_t Timeline::PickSpan(int64_t low, int64_t high) {
  int64_t most = high;
  while (most / 2 > low && OneIn(2)) most /= 2;
  return Pick(low, most);
}

void Timeline::At(int64_t moment, Event event) {
  planned_.push({std::max(moment, now_), ++last_number_, std::move(event)});
}

void Timeline::RunUntil(int64_t moment) {
  while (!planned_.empty() && planned_.top().moment <= moment) {
    // The queue gives its top as a constant, and drops it next.
    Planned next = std::move(const_cast<Planned&>(planned_.top()));
    planned_.pop();
    now_ = next.moment;
    ++run_;
    next.event();
  }
  now_ = moment;
}

void Timeline::Tell(const std::string& what) { told_.push_back(Concat(now_ / kMs, " ms: ", what)); }

std::string Timeline::Told() const {
  std::string lines;
  const size_t first = told_.size() - std::min(told_.size(), kLinesTold);
  for (size_t i = first; i < told_.size(); ++i) lines += "  " + told_[i] + "\n";
  return lines;
}

}  // namespace sluice::cluster
