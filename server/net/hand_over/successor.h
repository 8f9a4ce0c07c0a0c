// Successor: the process that takes this server's place (signs.h): started with its sockets, heard
// while clients are served, and waited for when they are not.
//
// Sockets are handed over as systemd does it (LISTEN_FDS), beside those of this process: neither
// closes the other's, and who connects meanwhile waits in their queues.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/text/fault.h"
#include "server/net/hand_over/started_as.h"
#include "server/net/loop/event_loop.h"
#include "server/net/manager/inherited_sockets.h"

namespace sluice {

class Successor {
 public:
  // How long it may be silent; it speaks every half second while it loads.
  static constexpr std::chrono::seconds kPatience{30};

  // `spoken` is called on the loop when there is something to Hear.
  Successor(EventLoop& loop, std::function<void()> spoken) : pair_(loop, std::move(spoken)) {}
  ~Successor() {
    if (running()) End();
  }
  Successor(const Successor&) = delete;

  // A sentence why it cannot be started, or empty. Requires: !running().
  Fault Start(const StartedAs& as, const std::vector<InheritedSocket>& sockets);
  bool running() const { return process_ > 0; }
  pid_t process() const { return process_; }

  enum class Word : uint8_t { kNone, kCanStart, kHasEnded };
  // Tells what it has said since, before it was told to go on. Never waits.
  Word Hear();
  // Tells it to load, and returns when it has: empty, or a sentence why it will not. Every
  // `interval`, which may be none, `meanwhile` is called.
  Fault AwaitLoaded(std::chrono::microseconds interval, const std::function<void()>& meanwhile);
  // It is the server from now on. False: it has ended, and is not.
  bool GiveWay();
  // It is dead when this returns. How it has ended: "exit status 1", "signal 9".
  std::string End();

 private:
  bool Say(char sign);

  DescriptorCall pair_;  // this end of it
  pid_t process_ = 0;
  bool has_hung_up_ = false;  // its end is closed, as a process's that ends
};

}  // namespace sluice
