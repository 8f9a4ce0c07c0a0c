// A master that a redis-server follows: it speaks as much of the protocol as a full sync of nothing
// takes, and then any bytes of a stream that a test gives it.
//
//   MadeUpMaster master;
//   client.Run({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
//   ASSERT_TRUE(master.Accept());
//   ASSERT_TRUE(master.Send(bytes) && master.AwaitApplied());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply_reader.h"

namespace sluice {

class MadeUpMaster {
 public:
  static constexpr int kTimeoutMs = 10'000;

  // Listens on a port of 127.0.0.1 that the system chooses; 0: it could not.
  MadeUpMaster();
  ~MadeUpMaster();
  MadeUpMaster(const MadeUpMaster&) = delete;
  MadeUpMaster& operator=(const MadeUpMaster&) = delete;
  int port() const { return port_; }

  // Waits for a replica, and answers what it says until it has an empty file. False: none came, or
  // it said something else.
  bool Accept();
  // Bytes of the stream.
  bool Send(std::string_view bytes);
  // Asks, and waits until the replica has acknowledged all that was sent before. False: the link is
  // closed, or it takes too long.
  bool AwaitApplied();
  int64_t offset() const { return offset_; }  // of the last byte sent

 private:
  bool Write(std::string_view bytes);
  // The next request of the replica.
  std::optional<Reply> Read();

  int listener_ = -1;
  int link_ = -1;
  int port_ = 0;
  int64_t offset_ = 0;
  std::string received_;
};

}  // namespace sluice
