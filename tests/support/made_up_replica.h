// A replica of a redis-server that keeps nothing, and shows what it is sent.
//
//   MadeUpReplica replica;
//   ASSERT_TRUE(replica.Follow(redis.socket_path()));
//   client.Run({"SET", "k", "v"});
//   replica.ReadBehind("*3\r\n$7\r\nPUBLISH ...");   // "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3 ..."
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// Requires of the server: repl-diskless-sync no.
class MadeUpReplica {
 public:
  static constexpr int kTimeoutMs = 10'000;

  MadeUpReplica() = default;
  ~MadeUpReplica();
  MadeUpReplica(const MadeUpReplica&) = delete;
  MadeUpReplica& operator=(const MadeUpReplica&) = delete;

  // Has a full sync; its file is dropped. False: the server answers otherwise.
  bool Follow(const std::string& socket_path);
  // What comes next of the stream, up to these bytes, which are left out. Null: they do not come.
  std::optional<std::string> ReadBehind(std::string_view end);

 private:
  bool Receive();
  // The next line, without its end; lines of nothing, which keep a link awake, are passed over.
  std::optional<std::string> ReadLine();

  int link_ = -1;
  std::string received_;
};

}  // namespace sluice
