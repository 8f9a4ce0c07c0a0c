// LogState: what the files of the server allow, as the gates see it: while they are loaded there is
// no data to answer from, and while the log, or a snapshot that is due, cannot be written no change
// is accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/log/stream_position.h"

namespace sluice {

inline constexpr std::string_view kNoReplicasText = "NOREPLICAS Not enough good replicas to write.";

// Written by LogService and Snapshots but for `stream`, read by the gates before each command that
// writes.
struct LogState {
  bool loading = false;
  // A full sync has failed when the data of before were gone: there are none, and what is on disk
  // tells more. LogService keeps it.
  bool lacks_data = false;
  // A sync has failed, of this process or the one before: what the system's cache still has of the
  // log may not be on disk, until the whole state stands in a new base. Reservation keeps it.
  bool is_unsure = false;
  std::string write_fault;      // in the system's words; empty: the log can be written
  bool snapshot_fault = false;  // snapshots are to be saved, and cannot be
  bool lacks_replicas = false;  // fewer than min-replicas-to-write are well: Replicas keeps it
  // Why no grant can be kept by lock-min-replicas Sluices; empty: it can. GrantPromise keeps it,
  // and whether that holds for all that is changed (replicas-required).
  std::string sluices_refusal;
  bool all_need_sluices = false;
  struct {
    int64_t started_unix_s = 0;
    uint64_t total_bytes = 0;
    uint64_t loaded_bytes = 0;
    int64_t taken_ms = 0;
  } progress;  // while loading
  struct {
    uint64_t loaded = 0;
    uint64_t expired = 0;  // their time was over: they were left out
  } last_rdb;              // keys of the RDB file that was loaded last
  struct {
    uint64_t keys = 0;
    uint64_t fields = 0;  // of hashes
  } ended;                // of an import: what was over, and was left out or kept

  // Where the stream to replicas stands, behind the last effect that it was told of; null: there is
  // none. Its owner keeps it, so that files can say it of the data that they hold.
  std::optional<StreamPosition> stream;
  // What the files said of it that this server has loaded: the data are those of that place. Null:
  // they did not say.
  std::optional<StreamPosition> loaded_stream;

  bool denies_writes() const { return !write_fault.empty() || snapshot_fault; }
  bool denies_anything() const {
    return loading || denies_writes() || lacks_replicas || !sluices_refusal.empty();
  }
  // Too few replicas could keep the changes of a command: why, or empty. `grants`: its
  // row says so (tells_of_grant).
  std::string_view ReplicasRefusal(bool writes, bool grants) const {
    if (writes && lacks_replicas) return kNoReplicasText;
    const bool is_needed = grants || (writes && all_need_sluices);
    return is_needed ? std::string_view(sluices_refusal) : std::string_view();
  }
  std::string WriteRefusal() const {
    if (!snapshot_fault) return "MISCONF Errors writing to the AOF file: " + write_fault;
    return "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
           "persist "
           "to disk. Commands that may modify the data set are disabled, because this instance is "
           "configured to report errors during writes if RDB snapshotting fails "
           "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about "
           "the "
           "RDB error.";
  }
};

}  // namespace sluice
