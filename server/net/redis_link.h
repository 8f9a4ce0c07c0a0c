// RedisLink: one connection to a server, as a program without a loop uses it: a request, and then
// its reply. For `sluice --backup`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/reply_reader.h"

namespace sluice {

class RedisLink {
 public:
  RedisLink() = default;
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;

  // `address` is host:port; of IPv6 [host]:port. A sentence why there is no connection, or empty.
  std::string Connect(std::string_view address);
  // Null: the connection is gone, or the server took longer than kPatienceSeconds; fault() says it.
  std::optional<Reply> Call(std::initializer_list<std::string_view> words);
  const std::string& fault() const { return fault_; }

 private:
  static constexpr int kPatienceSeconds = 30;
  static constexpr size_t kReplyBytesMax = 16 * 1024 * 1024;

  std::nullopt_t Fail(std::string_view why);

  int descriptor_ = -1;
  std::string received_;
  std::string fault_;
};

}  // namespace sluice
