// The oracle: a redis-server of its own in a temporary folder, on a Unix socket alone, and clients
// that block. It ends with this object, and with the process if the test is killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_reader.h"

namespace sluice {

class RedisClient {
 public:
  // Null when no server listens there.
  static std::unique_ptr<RedisClient> Connect(const std::string& socket_path);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  bool SendBytes(std::string_view bytes);
  bool Send(const std::vector<std::string>& arguments);
  // The next reply; null when the connection is closed or nothing came for `timeout_ms`.
  std::optional<Reply> Next(int timeout_ms = kTimeoutMs);
  // Send and Next.
  std::optional<Reply> Run(const std::vector<std::string>& arguments);

  static constexpr int kTimeoutMs = 10'000;

 private:
  explicit RedisClient(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  std::string received_;
};

class RedisProcess {
 public:
  // Further `options` as on the command line: {"--requirepass", "secret"}.
  explicit RedisProcess(const std::vector<std::string>& options = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  bool running() const { return running_; }  // it has loaded, and answered within kStartMs
  std::unique_ptr<RedisClient> Connect() const { return RedisClient::Connect(socket_path()); }
  std::string socket_path() const { return folder_ + "/redis.sock"; }

  static constexpr const char* kProgram = "/usr/bin/redis-server";
  static constexpr int kStartMs = 20'000;

 private:
  std::string folder_;
  pid_t process_ = -1;
  bool running_ = false;
};

}  // namespace sluice
