// RedisLink: one connection to a server, as a program without a loop uses it: requests, and then
// their replies. For `sluice --backup`, `sluice --ping` and `sluice top`.
//
// A step (a connection, the sending, a reply) waits at most for its patience, and a reply has at
// most 16 MB. While it waits it can watch another descriptor, so that a person at a terminal is
// heard although the server is not. With TLS all of it goes through a TlsClient.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/reply_reader.h"
#include "protocol/text/fault.h"
#include "server/config/tls_words.h"

struct sockaddr;

namespace sluice {

class TlsClient;

class RedisLink {
 public:
  static constexpr std::chrono::milliseconds kPatience{30'000};
  static constexpr size_t kReplyBytesMax = 16 * 1024 * 1024;

  // `ready` is called when `descriptor` can be read. False: the wait is given up.
  struct Beside {
    int descriptor = -1;
    std::function<bool()> ready;
  };

  explicit RedisLink(TlsWords tls = {}, std::chrono::milliseconds patience = kPatience);
  RedisLink(TlsWords tls, std::chrono::milliseconds patience, Beside beside);
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;

  // `address` is host:port, of IPv6 [host]:port, or unix:/path. A sentence why there is no
  // connection, or empty.
  Fault Connect(std::string_view address);
  // Null: the connection is gone, or the server took too long; fault() says it.
  std::optional<Reply> Call(std::initializer_list<std::string_view> words);

  // The same in two steps: requests that AppendRequest has made, and Next once for each. False:
  // as Call's null.
  bool Send(std::string_view requests);
  std::optional<Reply> Next();

  // --- what stands for no reply: a line, without its end, of at most kLineBytesMax; and bytes,
  // some of what comes next. Null: as Call's.
  static constexpr size_t kLineBytesMax = 64 * 1024;
  std::optional<std::string> Line();
  std::optional<size_t> Read(std::span<char> into);

  const std::string& fault() const { return fault_; }
  // The fault was a reply beyond kReplyBytesMax.
  bool too_large() const { return too_large_; }

 private:
  using Moment = std::chrono::steady_clock::time_point;

  Fault ConnectUnix(std::string_view path);
  int ConnectTo(int family, const sockaddr* address, unsigned length);
  Fault Secure(const std::string& host);
  bool SendSecured(std::string_view requests, Moment deadline);
  ssize_t ReceiveSome(std::span<char> into);
  Moment Deadline() const { return std::chrono::steady_clock::now() + patience_; }
  bool Await(short events, Moment deadline);
  bool Fill();
  std::nullopt_t Fail(std::string_view why);

  const std::chrono::milliseconds patience_;
  const TlsWords tls_;
  const Beside beside_;
  int descriptor_ = -1;
  std::unique_ptr<TlsClient> secured_;  // null: plain text
  std::string received_;
  size_t taken_ = 0;  // of received_: replies that were given out
  std::string fault_;
  bool too_large_ = false;
};

}  // namespace sluice
