// FlushedFile: what FLUSHALL has answered never comes back. The snapshot of before is replaced by
// one of what is left, and the client has its answer when that is on disk: the worker writes it,
// while others are served. Where nobody may wait (EXEC, scripts) it is written before the answer,
// as Redis does it always.
//
// Where no file can be written (a disk that is full), the one of before is removed instead. A
// client that is told an error knows that a start would find the old data.
//
// Files are small: no key is left. They are written in the order of their flushes, and ahead of all
// snapshots that begin later (WorkerLane::kSnapshot).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/waiting/blocked_clients.h"
#include "storage/disk.h"

namespace sluice {

class FlushedFile final : public WaitOwner {
 public:
  struct Outcome {
    int unwritten = 0;  // errno values: why no file could be written,
    int unremoved = 0;  // and why the old one could not be removed
    bool is_safe() const { return unremoved == 0; }
  };
  // Told of each file, on the loop, before its client is.
  using Written = std::function<void(const Outcome& outcome)>;

  // All of it outlives this.
  FlushedFile(Host& host, Clients& clients, BlockedClients& blocked_clients)
      : host_(host), clients_(clients), blocked_clients_(blocked_clients) {}
  ~FlushedFile() override { *life_ = nullptr; }
  FlushedFile(const FlushedFile&) = delete;

  // Makes `bytes` the content of `path`, which is absolute, and answers the call then.
  void Replace(CommandCall& call, Disk& disk, std::string path, std::string bytes, Written written);
  // On return all writes that were begun are on disk, or have failed.
  void Finish();

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd) override { waits_.erase(wait_id); }

 private:
  static Outcome Write(Disk& disk, const std::string& path, const std::string& bytes);
  static void Answer(ReplySink& reply, const Outcome& outcome);
  void Done(uint64_t id, const Outcome& outcome);

  Host& host_;
  Clients& clients_;
  BlockedClients& blocked_clients_;
  std::map<uint64_t, SessionId> waits_;
  uint64_t last_id_ = 0;
  uint64_t unfinished_ = 0;
  uint64_t aside_ = 0;  // the number of the last job
  // Jobs may end behind this.
  std::shared_ptr<FlushedFile*> life_ = std::make_shared<FlushedFile*>(this);
};

}  // namespace sluice
