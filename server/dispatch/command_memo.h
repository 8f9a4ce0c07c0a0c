// CommandMemo: the rows of the names that were looked for last. Clients repeat themselves, or go
// through the same few commands again and again: most look-ups end here, at a third of the price.
//
//   CommandMemo<2> memo(commands);
//   const Command* const command = memo.Find("SET");
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/base/attributes.h"
#include "protocol/text/same_bytes.h"
#include "server/dispatch/command_table.h"

namespace sluice {

// `kNames`: as many as are likely to come in turn. The table outlives it.
template <size_t kNames>
class CommandMemo {
 public:
  explicit CommandMemo(const CommandTable& commands) : commands_(&commands) {}

  // CommandTable::Find.
  ABSL_ATTRIBUTE_ALWAYS_INLINE const Command* Find(std::string_view name) {
    const uint64_t number = ShortNumber(name);
    for (const Known& known : known_) {
      if (known.Is(name, number)) [[likely]]
        return known.command;
    }
    return FindAnew(name);
  }

 private:
  static constexpr size_t kNameMax = 24;  // longer ones are looked for each time

  // A name as it was spelled, and its row. One that is not known yet is empty: then so is its row.
  struct Known {
    uint64_t number = 0;  // the name's ShortNumber
    size_t size = 0;
    const Command* command = nullptr;
    char name[kNameMax];

    // Most names are no longer than their number, and are not looked at.
    ABSL_ATTRIBUTE_ALWAYS_INLINE bool Is(std::string_view other, uint64_t other_number) const {
      return other_number == number && other.size() == size &&
             (size <= kShortBytes || SameBytes(other, {name, size}));
    }
  };

  ABSL_ATTRIBUTE_NOINLINE const Command* FindAnew(std::string_view name) {
    const Command* const command = commands_->Find(name);
    if (!command || name.size() > kNameMax) return command;
    Known& known = known_[oldest_];
    oldest_ = (oldest_ + 1) % kNames;
    known.number = ShortNumber(name);
    known.size = name.copy(known.name, kNameMax);
    known.command = command;
    return command;
  }

  const CommandTable* commands_;
  std::array<Known, kNames> known_;
  size_t oldest_ = 0;
};

}  // namespace sluice
