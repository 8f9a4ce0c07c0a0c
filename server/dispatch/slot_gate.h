// SlotGate: in a cluster, whether the keys of a request are here, and where else they are. Redis's
// getNodeByQuery (7.0) says in which order what is asked; its errors are those that clients of a
// cluster act on:
//
//   -MOVED 3999 10.0.0.2:6379   another server has them: ask there, and ask it first from now on
//   -CROSSSLOT …                they are not all of one slot, so no server has all of them
//   -ASK 3999 10.0.0.2:6379     the slot is on its way there, and the key may be: ask this once,
//   and
//                               say ASKING before
//   -TRYAGAIN …                 some keys are here and some there
//   -CLUSTERDOWN …              no server has them, or the slots of the cluster have gaps
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/clients/session.h"
#include "server/cluster/cluster_state.h"
#include "server/config/settings.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command.h"
#include "server/dispatch/command_table.h"
#include "storage/hashing/key_slot.h"
#include "storage/keyspace/keyspace.h"

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
  // `parts`: for rows whose flags hang on the request. The keys are looked at while their slot is
  // on its way.
  SlotGate(const Parts& parts, const Settings& settings, const ClusterState& cluster,
           Keyspace& keyspace, const TurnClock& clock)
      : parts_(parts), settings_(settings), cluster_(cluster), keyspace_(keyspace), clock_(clock) {}

  bool is_on() const { return cluster_.is_on(); }

  // Most requests have one key, which is here: that is seen without a look at all else. False says
  // nothing.
  bool IsPlainlyHere(const Request& request) const {
    const Command& command = request.command;
    const auto at = static_cast<size_t>(command.first_key);
    return command.sole_key && at < request.args.size() &&
           (cluster_.ServesAllPlainly() || cluster_.ServesPlainly(SlotOfKey(request.args[at])));
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
  enum class Finding : uint8_t {
    kHere,
    kMoved,
    kAsk,
    kTryAgain,
    kCrossSlot,
    kDown,
    kDownReadsOnly,
    kUnserved
  };
  // This server gives a slot away, or is given it.
  enum class Move : uint8_t { kNone, kOut, kIn };

  // Requests that are to run as one.
  struct Demand {
    SlotOfKeys slot;
    bool is_unserved = false;
    bool writes = false;
    bool is_sharded_message = false;
    bool asks = false;        // the command is as one behind ASKING
    bool moves_keys = false;  // MIGRATE
    Move move = Move::kNone;
    std::string_view first_key;
    bool is_of_several = false;  // keys, that are not the same
    size_t missing = 0;          // of the keys of a slot on its way
    size_t there = 0;
  };

  bool AddKey(std::string_view key, Demand& demand);
  bool AddKeys(const Request& request, Demand& demand);
  Finding Find(const Session& session, const Request& request, Demand& demand);
  Finding FindOf(const Session& session, const Demand& demand) const;
  std::optional<Finding> FindOfMove(const Session& session, const Demand& demand) const;
  Move MoveOf(KeySlot slot) const;
  std::string MovedText(KeySlot slot) const;
  std::string AskText(KeySlot slot) const;
  std::string PlaceText(size_t node) const;

  const Parts& parts_;
  const Settings& settings_;
  const ClusterState& cluster_;
  Keyspace& keyspace_;
  const TurnClock& clock_;
  std::vector<KeyUse> keys_;
  std::vector<int> positions_;
};

}  // namespace sluice
