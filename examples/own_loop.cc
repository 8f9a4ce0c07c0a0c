// A program with an io_context of its own that serves its counters to others, and resets them
// itself once a second: one thread does both, and it is the program's.
//
//   own_loop              prints where it serves, until Ctrl-C
//   own_loop --self-test  for three of its seconds, which pass faster
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "sluice/server.h"

namespace {

class Counters {
 public:
  Counters(boost::asio::io_context& io, std::chrono::milliseconds period, int rounds)
      : timer_(io), period_(period), rounds_(rounds) {}

  std::string Start(boost::asio::io_context& io) {
    sluice::ServerOptions options{.loop = sluice::ServerOptions::Loop::kHost};
    options.on_end = [this](const std::string&) { timer_.cancel(); };
    if (std::string fault = server_.Start(std::move(options)); !fault.empty()) return fault;
    server_.DriveBy<boost::asio::posix::stream_descriptor>(io);
    std::printf("counting at %s\n", server_.url().c_str());
    Await();
    return {};
  }
  std::string Stop() { return server_.Stop(); }
  int resets() const { return resets_; }

 private:
  void Await() {
    timer_.expires_after(period_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      server_.Run({"DEL", "counters"});
      resets_ = static_cast<int>(server_.Run({"INCR", "resets"}).integer());
      if (resets_ == rounds_) {
        server_.Stop();
      } else {
        Await();
      }
    });
  }

  sluice::Server server_;
  boost::asio::steady_timer timer_;
  const std::chrono::milliseconds period_;
  const int rounds_;
  int resets_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_test = argc > 1 && std::strcmp(argv[1], "--self-test") == 0;
  boost::asio::io_context io;
  Counters counters(io, std::chrono::milliseconds(is_test ? 10 : 1000), is_test ? 3 : -1);
  if (const std::string fault = counters.Start(io); !fault.empty()) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    return 1;
  }
  boost::asio::signal_set signals(io);
  if (!is_test) {
    signals.add(SIGINT);
    signals.async_wait([&](const boost::system::error_code& error, int) {
      if (!error) counters.Stop();
    });
  }
  io.run();
  return !is_test || counters.resets() == 3 ? 0 : 1;
}
