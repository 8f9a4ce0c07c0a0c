// SlotGate: in a cluster, whether the keys of a request are here, and where else they are. Redis's
// getNodeByQuery (7.0) says in which order what is asked; its errors are those that clients of a
// cluster act on:
//
//   -MOVED 3999 10.0.0.2:6379   another server has them: ask there, and ask it first from now on
//   -CROSSSLOT …                they are not all of one slot, so no server has all of them
//   -CLUSTERDOWN …              no server has them, or the slots of the cluster have gaps
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/session.h"
#include "server/cluster/cluster_state.h"
#include "server/config/settings.h"
#include "server/dispatch/command.h"
#include "server/dispatch/command_table.h"
#include "storage/hashing/key_slot.h"

namespace sluice {

// Whether a refusal is of this gate: EXEC answers it as it is, as clients act on it.
bool IsOfSlots(std::string_view refusal);

// The slot of the keys of one request, or of several that are to run as one.
class SlotOfKeys {
 public:
  // False: another slot than that of the keys before.
  bool Add(KeySlot slot) {
    if (slot_ && *slot_ != slot) return false;
    slot_ = slot;
    return true;
  }
  std::optional<KeySlot> slot() const { return slot_; }

 private:
  std::optional<KeySlot> slot_;
};

class SlotGate {
 public:
  // `parts`: for rows whose flags hang on the request.
  SlotGate(const Parts& parts, const Settings& settings, const ClusterState& cluster)
      : parts_(parts), settings_(settings), cluster_(cluster) {}

  bool is_on() const { return cluster_.is_on(); }

  // Most requests have one key, which is here: that is seen without a look at all else. False says
  // nothing.
  bool IsPlainlyHere(const Request& request) const {
    const Command& command = request.command;
    const auto at = static_cast<size_t>(command.first_key);
    return command.sole_key && at < request.args.size() &&
           cluster_.ServesPlainly(SlotOfKey(request.args[at]));
  }
  // The error for the client, without its sign, or empty. EXEC is asked for all that is queued.
  // O(keys and their bytes).
  std::string Ask(const Session& session, const Request& request);
  // The same of a command that a script of that caller runs. `slot` is that of the script so far,
  // and of the command's keys from then on; `may_cross`: they may be of several.
  std::string AskOfScript(const Session& caller, const Request& request, bool may_cross,
                          SlotOfKeys& slot);
  // The slot of the keys of a request, if it has some and they have one.
  std::optional<KeySlot> SlotOf(const Request& request);

 private:
  enum class Finding : uint8_t { kHere, kMoved, kCrossSlot, kDown, kDownReadsOnly, kUnserved };

  // Requests that are to run as one.
  struct Demand {
    SlotOfKeys slot;
    bool is_unserved = false;
    bool writes = false;
    bool is_sharded_message = false;
  };

  bool AddKeys(const Request& request, Demand& demand);
  Finding Find(const Session& session, const Request& request, Demand& demand);
  Finding FindOf(const Session& session, const Demand& demand) const;
  std::string MovedText(KeySlot slot) const;

  const Parts& parts_;
  const Settings& settings_;
  const ClusterState& cluster_;
  std::vector<KeyUse> keys_;
  std::vector<int> positions_;
};

}  // namespace sluice
