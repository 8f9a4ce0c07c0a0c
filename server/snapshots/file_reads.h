// FileReads: a saved snapshot, read by a client piece by piece (SLUICE.SNAPSHOT), so that `sluice
// --backup` can have it on another machine. A worker reads, while others are served.
//
// Nothing is kept between two pieces: each comes with the mark of the file that it is of, and a
// client that meets another mark begins anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/waiting/blocked_clients.h"
#include "storage/disk.h"

namespace sluice {

class FileReads final : public WaitOwner {
 public:
  static constexpr int64_t kPieceBytesMax = 1024 * 1024;  // which a client can have wait for it

  struct Piece {
    std::string path;     // absolute
    uint64_t saves = 0;   // of the server so far: part of the mark, as numbers of files come again
    uint64_t offset = 0;  // beyond the end: nothing is read
    size_t bytes = 0;     // at most kPieceBytesMax
  };

  // All of it outlives this.
  FileReads(Host& host, Clients& clients, BlockedClients& blocked_clients)
      : host_(host), clients_(clients), blocked_clients_(blocked_clients) {}
  ~FileReads() override { *life_ = nullptr; }
  FileReads(const FileReads&) = delete;

  // Answers the call with mark, size of the file and the bytes, or an error.
  void Read(CommandCall& call, Disk& disk, Piece piece);

  // --- WaitOwner
  void WaitCancelled(uint64_t wait_id, WaitEnd) override { waits_.erase(wait_id); }

 private:
  struct Outcome {
    int fault = 0;  // an errno value
    DiskIdentity identity;
    uint64_t size = 0;
    std::string bytes;
  };
  static Outcome ReadNow(Disk& disk, const Piece& piece);
  static int ReadOnce(Disk& disk, const Piece& piece, Outcome& outcome);
  static void Answer(ReplySink& reply, const Piece& piece, const Outcome& outcome);
  void Done(uint64_t id, const Piece& piece, const Outcome& outcome);

  Host& host_;
  Clients& clients_;
  BlockedClients& blocked_clients_;
  std::map<uint64_t, SessionId> waits_;
  uint64_t last_id_ = 0;
  // Jobs may end behind this.
  std::shared_ptr<FileReads*> life_ = std::make_shared<FileReads*>(this);
};

}  // namespace sluice
