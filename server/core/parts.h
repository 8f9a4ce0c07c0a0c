// Parts: what the server consists of, found by type. A handler is given it with its call and asks
// for the parts that it works with; so a command's row knows none of them, and a new part changes
// no header that all commands read.
//
//   class LockService {
//    public:
//     static constexpr PartId kPartId = PartId::kLocks;
//   };
//   Parts parts;
//   parts.Add(locks);                            // by the root, once
//   call.part<LockService>().Enter();            // in a handler
//
// A part itself never gets it: its constructor names the references that it uses. What is shared by
// several servers (CommandTable) is asked for as what it is: part<const CommandTable>().
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace sluice {

enum class PartId : uint8_t {
  kAccess,
  kAccessGate,
  kAccessLog,
  kActing,
  kClientLines,
  kClients,
  kCommands,
  kCommandCounts,
  kConfig,
  kDebugSettings,
  kDefragmenter,
  kDispatcher,
  kEffects,
  kFacts,
  kHost,
  kInputs,
  kKeyspace,
  kLatencyMonitor,
  kLimits,
  kLocks,
  kLog,
  kLogState,
  kMemoryLimit,
  kMonitors,
  kNotifications,
  kParkedClients,
  kPause,
  kPubSub,
  kRareFlags,
  kRates,
  kRequestWatch,
  kScripts,
  kScriptState,
  kSlowLog,
  kSnapshots,
  kSpaces,
  kStatistics,
  kTimeControl,
  kTracking,
  kTurnClock,
  kUsers,
  kWaiters,
  kWatches,
  kCount,
};

// What a part is found by; for one of storage see storage_parts.h.
template <typename Part>
inline constexpr PartId kPartIdOf = Part::kPartId;

class Parts {
 public:
  template <typename Part>
  void Add(Part& part) {
    const void*& place = parts_[static_cast<size_t>(kPartIdOf<Part>)];
    assert(place == nullptr);  // two kinds of parts have one id, or one is added twice
    place = &part;
  }
  template <typename Part>
  Part& Get() const {
    Part* const part = Find<Part>();
    assert(part != nullptr);
    return *part;
  }
  // Of a part that only some servers have; null where it is missing.
  template <typename Part>
  Part* Find() const {
    const void* const part = parts_[static_cast<size_t>(kPartIdOf<Part>)];
    return static_cast<Part*>(const_cast<void*>(part));
  }

 private:
  std::array<const void*, static_cast<size_t>(PartId::kCount)> parts_{};
};

}  // namespace sluice
