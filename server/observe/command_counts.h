// CommandCounts: what a server counts of each of its commands, by the command's number. The table
// of commands is shared by all servers of a process; this is a server's own.
//
// Numbers that stand together are counted together: a group takes memory when the first of its
// commands is called. A server that uses a dozen commands has a few of the eighty groups, and a
// test double has thousands of servers: until then a group takes the two bytes of its place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/observe/statistics.h"

namespace sluice {

class CommandCounts {
 public:
  // `commands` is how many there are; their numbers are below it.
  explicit CommandCounts(size_t commands) : places_((commands + kGroup - 1) / kGroup) {}

  CommandStatistics& Of(size_t number) {
    if (number != last_.number) [[unlikely]] {
      std::swap(last_, before_);  // a script and its commands take turns
      if (number != last_.number) last_ = Seek(number);
    }
    return *last_.counts;
  }
  // For those who only look: null where nothing of its group was counted.
  const CommandStatistics* Find(size_t number) const {
    const uint16_t place = places_[number / kGroup];
    return place ? &(*groups_[place - 1])[number % kGroup] : nullptr;
  }
  // Gives the memory back, too: no reference of Of may be in use.
  void Reset() {
    std::ranges::fill(places_, uint16_t{0});
    groups_.clear();
    last_ = before_ = {};
  }

 private:
  static constexpr size_t kGroup = 4;
  using Group = std::array<CommandStatistics, kGroup>;

  // Which command Of was asked for, and its counts.
  struct Asked {
    size_t number = SIZE_MAX;
    CommandStatistics* counts = nullptr;
  };

  Asked Seek(size_t number) {
    uint16_t& place = places_[number / kGroup];
    if (place == 0) [[unlikely]] {
      groups_.push_back(std::make_unique<Group>());
      place = static_cast<uint16_t>(groups_.size());
    }
    return {number, &(*groups_[place - 1])[number % kGroup]};
  }

  std::vector<uint16_t> places_;  // of each group in `groups_`, counted from 1; 0: it is not there
  std::vector<std::unique_ptr<Group>> groups_;
  Asked last_;  // a call asks several times
  Asked before_;
};

}  // namespace sluice
