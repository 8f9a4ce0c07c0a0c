// Signals: of a process that is a server and nothing else, on its loop. SIGINT and SIGTERM ask it
// to end, SIGHUP to read its certificates again, SIGUSR2 to make way for a new process; SIGPIPE is
// ignored. A server inside a program has none of this.
//
// They are blocked from then on, and read from a descriptor (signalfd): no handler runs. Threads
// block all signals, and a process that is started has none blocked.
#pragma once

#include <functional>

#include "server/net/loop/event_loop.h"

namespace sluice {

class Signals {
 public:
  // `end` is called with the signal, on the loop. False: it goes on, and may be asked again.
  Signals(EventLoop& loop, std::function<bool(int signal)> end);
  // None is waited for any more; one that has come, and was not handed on yet, is dropped.
  void Stop() { set_.Close(); }

 private:
  void Read();

  DescriptorCall set_;
  const std::function<bool(int)> end_;
};

}  // namespace sluice
