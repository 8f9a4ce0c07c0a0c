// ServiceManager: tells systemd, in datagrams to the socket that NOTIFY_SOCKET names, that the
// server is ready, that it ends, and again and again that its loop goes round (watchdog).
//
//   READY=1            clients are served: what was to be loaded is
//   STOPPING=1         the end has begun, which may take as long as a snapshot takes
//   MAINPID=...        that process has taken this one's place
//   WATCHDOG=1         twice in the time that WATCHDOG_USEC allows
//   STATUS=...         a sentence for `systemctl status`
//
// The protocol is these lines; a library for them would cost each start more than it saves. Nothing
// waits: a manager that does not read is not told.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/fault.h"

namespace sluice {

class ServiceManager {
 public:
  // Has `call` made on the loop, once, when so much time has passed.
  using CallIn = std::function<void(std::chrono::microseconds time, std::function<void()> call)>;

  explicit ServiceManager(CallIn call_in) : call_in_(std::move(call_in)) {}
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;

  // `supervised` is the option. Reads the environment, and begins to answer the watchdog. A
  // sentence, or empty. Where systemd is to be told, and did not say by which socket, nothing is
  // told, as in Redis: a service of another type starts all the same, and `warn` gets a sentence.
  using Warn = std::function<void(std::string_view sentence)>;
  Fault Begin(std::string_view supervised, const Warn& warn);
  bool is_there() const { return socket_ >= 0; }
  void Loading() { Tell("STATUS=Loading its data"); }
  void Ready(const std::string& address);
  void Ending();
  // While the loop stands still: every interval() a sign of life, by hand. 0: nobody waits for one.
  std::chrono::microseconds interval() const { return watchdog_; }
  void SignOfLife() { Tell("WATCHDOG=1"); }
  // Another process is the service from now on, and speaks for it.
  void MainProcessIs(int64_t process);

 private:
  Fault Connect(std::string_view path);
  void AwaitWatchdog();
  void Tell(std::string_view lines);

  const CallIn call_in_;
  int socket_ = -1;
  std::chrono::microseconds watchdog_{0};  // between two signs of life; 0: nobody waits for them
};

}  // namespace sluice
