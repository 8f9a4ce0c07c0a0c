// Faults that tests plant, to see that the simulations find them: each is a mistake that a server
// with this design could have. There is none outside of the build of the tests
// (SLUICE_PLANTED_FAULTS), where a test names the one that it wants.
//
// A mark of tokens that counts before the replicas have it is not among them, for no client could
// tell: it stands in the stream ahead of the grants that need it, and those are answered once the
// replicas have acknowledged them, and so the mark. A replica without it may also lack it by right:
// k of them have to have it, not all.
//
//   if (IsPlanted(PlantedFault::kAnswersBeforeSync)) return last_;
#pragma once

#include <cstdint>

namespace sluice {

enum class PlantedFault : uint8_t {
  kNone,
  kUnixDeadlines,  // a log's, or a master's, engine time is the wall clock's: its steps move leases
  kAnswersBeforeSync,        // answers leave before the disk has what they say
  kMarkBeforeFile,           // tokens are given that no file says are reserved
  kNoGrace,                  // a start that may lack grants holds no name back
  kNoPromotedGrace,          // nor does a replica that is promoted
  kGrantsBeforeReplicas,     // grants are answered before the replicas have them
  kHandOversBeforeReplicas,  // the same of those to requests that waited
  kSameHistory,      // after a crash the stream goes on under its id, whatever the disk has lost
  kSentCounts,       // a replica counts as having what it was sent
  kReplicaEndsKeys,  // a replica ends keys by its own clock
  kFullSyncKeepsId,  // data of a full sync go on under the id of those before
};

#ifdef SLUICE_PLANTED_FAULTS
inline namespace planting {
inline PlantedFault planted_fault = PlantedFault::kNone;
inline bool IsPlanted(PlantedFault fault) { return planted_fault == fault; }
}  // namespace planting
#else
inline namespace not_planting {
constexpr bool IsPlanted(PlantedFault) { return false; }
}  // namespace not_planting
#endif

}  // namespace sluice
