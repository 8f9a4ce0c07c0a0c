// RedisLink: one connection to a server, as a program without a loop uses it: a request, and then
// its reply. For `sluice --backup` and `sluice --ping`.
//
// It blocks, a step at most for its patience, and takes replies of up to 16 MB.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply_reader.h"

namespace sluice {

class RedisLink {
 public:
  static constexpr std::chrono::milliseconds kPatience{30'000};

  // How long a connection, or a reply, may take.
  explicit RedisLink(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;

  // `address` is host:port; of IPv6 [host]:port. A sentence why there is no connection, or empty.
  std::string Connect(std::string_view address);
  // Null: the connection is gone, or the server took too long; fault() says it.
  std::optional<Reply> Call(std::initializer_list<std::string_view> words);
  const std::string& fault() const { return fault_; }

 private:
  static constexpr size_t kReplyBytesMax = 16 * 1024 * 1024;

  std::nullopt_t Fail(std::string_view why);

  const std::chrono::milliseconds patience_;
  int descriptor_ = -1;
  std::string received_;
  std::string fault_;
};

}  // namespace sluice
