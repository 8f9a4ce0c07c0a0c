// See signals.h.
#include "server/net/signals.h"

#include <signal.h>

#include <utility>

namespace sluice {

Signals::Signals(boost::asio::io_context& io, std::function<bool(int)> end)
    : set_(io), end_(std::move(end)) {
  boost::system::error_code ignored;
  ::signal(SIGPIPE, SIG_IGN);
  set_.add(SIGHUP, ignored);
  set_.add(SIGINT, ignored);
  set_.add(SIGTERM, ignored);
  set_.add(SIGUSR2, ignored);
  Await();
}

void Signals::Stop() {
  stopped_ = true;
  boost::system::error_code ignored;
  set_.cancel(ignored);
}

void Signals::Await() {
  set_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (!error && !stopped_ && !end_(signal) && !stopped_) Await();
  });
}

}  // namespace sluice
