// CommandCounts: what a server counts of each of its commands, by the command's number. The table
// of commands is shared by all servers of a process; this is a server's own.
//
// Numbers that stand together are counted together: a group takes memory when the first of its
// commands is called. A server that uses a dozen commands has a few of the forty groups.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "server/core/parts.h"
#include "server/observe/statistics.h"

namespace sluice {

class CommandCounts {
 public:
  static constexpr PartId kPartId = PartId::kCommandCounts;

  // `commands` is how many there are; their numbers are below it.
  explicit CommandCounts(size_t commands) : groups_((commands + kGroup - 1) / kGroup) {}

  CommandStatistics& Of(size_t number) {
    std::unique_ptr<Group>& group = groups_[number / kGroup];
    if (!group) [[unlikely]]
      group = std::make_unique<Group>();
    return (*group)[number % kGroup];
  }
  // For those who only look: null where nothing of its group was counted.
  const CommandStatistics* Find(size_t number) const {
    const std::unique_ptr<Group>& group = groups_[number / kGroup];
    return group ? &(*group)[number % kGroup] : nullptr;
  }
  // Gives the memory back, too: no reference of Of may be in use.
  void Reset() {
    for (std::unique_ptr<Group>& group : groups_) group.reset();
  }

 private:
  static constexpr size_t kGroup = 8;
  using Group = std::array<CommandStatistics, kGroup>;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace sluice
