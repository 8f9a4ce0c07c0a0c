// LockLosses: tells holders that asked for it (NOTIFY) that they have lost a lock against their
// will, with a "lock-lost" push.
//
// A loss is noted in the middle of a change of the keyspace, when its reason is perhaps not known
// yet: a lock that leaves its key was deleted or overwritten, and only the key can tell, later
// (FindReasons). It is told behind the command and never into the middle of an answer, for the
// holder may be the client whose command runs. Crowds of holders are told in slices; the holders of
// a crowd that ended as a whole are noted when their memory is freed.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "server/clients/clients.h"
#include "server/core/lazy_deque.h"
#include "server/core/slow_path_flags.h"
#include "storage/locks/lock.h"

namespace sluice {

// How a holder came to lose a lock against its will, as the push says it.
enum class LockLoss : uint8_t {
  kExpired,
  kBroken,
  kDeleted,
  kFlushed,
  kOverwritten,
  kRenamed,
  kSwapped,
  kGone,  // deleted or overwritten: not known yet
};

class LockLosses {
 public:
  // Both outlive it.
  LockLosses(Clients& clients, SlowPathFlags& flags) : clients_(clients), flags_(flags) {}

  // --- while the keyspace is changed
  // A holder has lost the lock. One test, unless it has NOTIFY.
  void Note(const Lock& lock, const LockHolder& holder, LockLoss why);
  // All holders of a lock that is going away. A crowd is noted as a whole, in O(1); its holders
  // follow with HolderFreed.
  void NoteAll(const Lock& lock, LockLoss why);
  // The memory of a holder of such a crowd is being given back.
  void HolderFreed(const Lock& lock, const LockHolder& holder);
  // The lock itself is being destroyed: no more of its holders follow.
  void Freed(const Lock& lock);
  // Another key was moved to this name: losses there that have no reason yet have that one.
  // O(losses of this command), which are few.
  void NoteOverwritten(LockNameView name);

  // --- behind the command
  bool any_noted() const { return !noted_.empty() || !unsure_.empty(); }
  // Finds the reasons that are not known yet: a name that holds something else now was overwritten,
  // a free one was deleted.
  void FindReasons(absl::FunctionRef<bool(LockNameView)> is_taken);
  // Pushes what is noted; each push takes one of `answers_left`. A loss of many connections may
  // take several turns.
  void Tell(int& answers_left);
  bool any_to_tell() const { return !noted_.empty() || !pushes_.empty(); }

 private:
  // The loss of one holder, with all its connections that asked to be told.
  struct Loss {
    LockClients connections;
    LockName name;
    int64_t token;
    LockLoss why;
    size_t told = 0;  // of the connections
  };

  void Push(const Loss& loss, uint64_t connection);

  Clients& clients_;
  SlowPathFlags& flags_;
  std::vector<Loss> noted_;                           // their reasons perhaps not known yet
  LazyDeque<Loss> pushes_;                            // to be told
  absl::flat_hash_map<const Lock*, LockLoss> dying_;  // crowds that are to be freed
  std::vector<const Lock*> unsure_;                   // of these, their reason not known yet
};

}  // namespace sluice
