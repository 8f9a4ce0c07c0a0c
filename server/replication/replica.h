// Replica: a server that follows this one, as it has said of itself (REPLCONF) and as it is being
// served. Its session is of kind kReplica from PSYNC on, and sent nothing but this:
//
//   kWaits         "\n" now and then, until an image for its kind begins: FULLRESYNC
//   kTakesImage    the image, at its own pace
//   kAwaitsAck     nothing: it has to say first that it has loaded what had no length
//   kOnline        the stream
//
// A replica that goes on where it was (CONTINUE) is online at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/clients/session.h"
#include "server/replication/backlog.h"
#include "server/snapshots/snapshot_spool.h"
#include "server/snapshots/snapshot_writer.h"

namespace sluice {

enum class ReplicaPhase : uint8_t { kWaits, kTakesImage, kAwaitsAck, kOnline };

struct Replica final : SessionState {
  // --- what it has said. The words of REPLCONF stand before PSYNC, those of ACK behind it.
  int64_t port = 0;     // where it listens
  std::string address;  // where others find it; empty: where it comes from
  bool takes_eof = false;
  bool takes_new_id = false;  // +CONTINUE with an id
  bool is_sluice = false;
  std::string link_id;             // a Sluice's, of all its links; empty: it does not say
  std::string told_origin;         // whose words it was told it will be sent; empty: it did not ask
  bool wants_image_alone = false;  // redis-cli --rdb: it goes when it has that
  ImageParts wanted;               // redis-cli --functions-rdb: of the image
  int64_t acked = 0;               // the offset up to which it has applied the stream
  int64_t synced = 0;              // and up to which it is on its disk, as far as it says so
  int64_t acked_ms = 0;            // engine ms of the last word of it
  bool has_acked = false;          // since it is online
  bool is_admitted = false;        // to those that keep grants: see ReplicaWitness
  int64_t mark_end = 0;            // the stream's, behind the present mark's word to it; 0: none
  int64_t greeted_mark = 0;        // the mark that the answer to its PSYNC has told; 0: none

  // --- how it is served
  ReplicaPhase phase = ReplicaPhase::kWaits;
  bool is_silent = false;  // it came by SYNC: it acknowledges no offsets
  int64_t since_ms = 0;    // in this phase; kTakesImage: since it last took something
  uint64_t sync = 0;       // the image that it waits for or takes; 0: none was asked for yet
  std::unique_ptr<SpoolReader> image;
  std::string end_mark;                // behind the image; empty: its length stands before it
  bool is_begun = false;               // that word has been said
  uint64_t image_end = 0;              // in all that its output was given
  std::optional<BacklogReader> place;  // from the image's instant on

  // A Sluice that has all data, and may be promoted.
  bool is_online_sluice() const {
    return is_sluice && !acknowledges_nothing() && phase == ReplicaPhase::kOnline;
  }
  // It keeps what it acknowledges: its answer counts for a grant.
  bool keeps_grants() const { return is_admitted && is_online_sluice(); }
  bool is_whole() const { return wanted == ImageParts{}; }
  bool acknowledges_nothing() const { return is_silent || wants_image_alone; }
  size_t MemoryBytes() const override;
};

// Null: the session has said nothing of the kind.
inline Replica* ReplicaOf(const Session& session) {
  return static_cast<Replica*>(session.rare->replica.get());
}

}  // namespace sluice
