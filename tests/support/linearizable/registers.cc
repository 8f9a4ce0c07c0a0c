// See registers.h.
#include "tests/support/linearizable/registers.h"

#include <algorithm>
#include <map>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

struct Zone {
  int64_t value = 0;
  bool is_written = false;
  int64_t write_call = 0;
  int64_t first_answer = kNever;
  int64_t last_call = kBeforeAll;
  int64_t first_read_answer = kNever;

  bool is_forward() const { return first_answer < last_call; }
  int64_t from() const { return std::min(first_answer, last_call); }
  int64_t to() const { return std::max(first_answer, last_call); }
};

std::vector<Zone> ZonesOf(std::span<const RegisterOperation> history) {
  std::map<int64_t, Zone> zones;
  // As if it had been written before all.
  zones[kUnwritten] = {.is_written = true, .write_call = kBeforeAll, .first_answer = kBeforeAll};
  for (const RegisterOperation& operation : history) {
    if (!operation.is_write && !operation.span.answered()) continue;  // it says nothing
    Zone& zone = zones[operation.value];
    zone.value = operation.value;
    zone.first_answer = std::min(zone.first_answer, operation.span.answer);
    zone.last_call = std::max(zone.last_call, operation.span.call);
    if (operation.is_write) {
      zone.is_written = true;
      zone.write_call = operation.span.call;
    } else {
      zone.first_read_answer = std::min(zone.first_read_answer, operation.span.answer);
    }
  }
  std::vector<Zone> list;
  for (const auto& [value, zone] : zones) {
    // A write that nobody has answered, or read from, need not have been.
    if (zone.first_answer != kNever) list.push_back(zone);
  }
  return list;
}

std::string OverlapText(const Zone& zone, const Zone& other) {
  return Concat("value ", other.value, " was there between ", other.from(), " and ", other.to(),
                ", where ", zone.value, " had to be from ", zone.from(), " to ", zone.to());
}

// Forward zones follow each other; then it is enough to look at the one that begins before another
// zone does.
std::optional<std::string> Overlap(std::vector<Zone> zones) {
  std::ranges::sort(zones, {}, &Zone::from);
  const Zone* forward = nullptr;
  for (const Zone& zone : zones) {
    if (!zone.is_forward()) continue;
    if (forward && zone.from() < forward->to()) return OverlapText(*forward, zone);
    forward = &zone;
  }
  std::vector<const Zone*> forwards;
  for (const Zone& zone : zones) {
    if (zone.is_forward()) forwards.push_back(&zone);
  }
  for (const Zone& zone : zones) {
    if (zone.is_forward()) continue;
    const auto next = std::ranges::lower_bound(forwards, zone.from(), {},
                                               [](const Zone* other) { return other->from(); });
    if (next == forwards.begin()) continue;
    const Zone& around = **std::prev(next);
    if (around.from() < zone.from() && zone.to() < around.to()) return OverlapText(around, zone);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> JudgeRegister(std::span<const RegisterOperation> history) {
  std::vector<Zone> zones = ZonesOf(history);
  for (const Zone& zone : zones) {
    if (!zone.is_written) return Concat("value ", zone.value, " was read, and never written");
    if (zone.first_read_answer < zone.write_call)
      return Concat("value ", zone.value, " was read by ", zone.first_read_answer,
                    ", and written from ", zone.write_call, " on");
  }
  return Overlap(std::move(zones));
}

void RegisterModel::Apply(State state, const Operation& operation, std::vector<State>& after) {
  if (operation.is_write) after.push_back(operation.value);
  if (!operation.is_write && (operation.value == state || !operation.span.answered()))
    after.push_back(state);
}

}  // namespace sluice
