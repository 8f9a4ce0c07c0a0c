// Signals: of a process that is a server and nothing else, on its loop. SIGINT and SIGTERM ask it
// to end, SIGHUP to read its certificates again, SIGUSR2 to make way for a new process; SIGPIPE is
// ignored. A server inside a program has none of this.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace sluice {

class Signals {
 public:
  // `end` is called with the signal, on the loop. False: it goes on, and may be asked again.
  Signals(boost::asio::io_context& io, std::function<bool(int signal)> end);
  // None is waited for any more; one that has come, and was not handed on yet, is dropped.
  void Stop();

 private:
  void Await();

  boost::asio::signal_set set_;
  const std::function<bool(int)> end_;
  bool stopped_ = false;
};

}  // namespace sluice
