// Signals on a loop of their own: which are heard, and that none is waited for behind Stop.
#include "server/net/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

#include "server/net/loop/event_loop.h"

namespace sluice {
namespace {

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { ::pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalsTest() override {
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

TEST_F(SignalsTest, EachIsHeardUntilOneEnds) {
  Signals signals(loop_, [this](int signal) {
    heard_.push_back(signal);
    return signal == SIGTERM;
  });
  for (const int signal : {SIGHUP, SIGUSR2, SIGTERM, SIGHUP}) Raise(signal);
  EXPECT_EQ(heard_, (std::vector<int>{SIGHUP, SIGUSR2, SIGTERM}));
}

// A server that has made way stops them while more are on their way.
TEST_F(SignalsTest, NoneIsHandedOnBehindStop) {
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
