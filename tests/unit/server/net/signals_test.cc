// Signals that come as the server ends: none is handed on behind Stop.
#include "server/net/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

#include "server/net/loop/event_loop.h"

namespace sluice {
namespace {

class LastSignalsTest : public testing::Test {
 protected:
  LastSignalsTest() { ::pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~LastSignalsTest() override {
    // Those that are still on their way end no test.
    for (const int signal : {SIGHUP, SIGTERM, SIGUSR2}) ::signal(signal, SIG_IGN);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    for (const int signal : {SIGHUP, SIGTERM, SIGUSR2}) ::signal(signal, SIG_DFL);
  }
  void Raise(int signal) {
    ASSERT_EQ(::raise(signal), 0);
    while (loop_.Round(/*may_wait=*/false)) {
    }
  }

  EventLoop loop_;
  std::vector<int> heard_;

 private:
  sigset_t before_;
};

// A server that has made way stops them while more are on their way.
TEST_F(LastSignalsTest, NoneIsHandedOnBehindStop) {
  Signals* running = nullptr;
  Signals signals(loop_, [&](int signal) {
    heard_.push_back(signal);
    running->Stop();
    return false;
  });
  running = &signals;
  ASSERT_EQ(::raise(SIGHUP), 0);
  ASSERT_EQ(::raise(SIGUSR2), 0);
  Raise(SIGTERM);
  EXPECT_EQ(heard_.size(), 1u);
}

}  // namespace
}  // namespace sluice
