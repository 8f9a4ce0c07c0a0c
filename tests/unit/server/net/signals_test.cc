// Signals on a loop of their own: which are heard, and that none is waited for behind Stop.
#include "server/net/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace sluice {
namespace {

constexpr std::chrono::seconds kPatience(10);

// A server that has made way stops them while one more is on its way: nothing waits then, and the
// loop ends.
TEST(Signals, NoneIsWaitedForOnceStopped) {
  boost::asio::io_context io;
  int heard = 0;
  Signals signals(io, [&](int signal) {
    EXPECT_EQ(signal, SIGUSR2);
    ++heard;
    signals.Stop();
    return false;
  });
  ASSERT_EQ(::raise(SIGUSR2), 0);
  ASSERT_EQ(::raise(SIGUSR2), 0);
  io.run_for(kPatience);
  EXPECT_TRUE(io.stopped());
  EXPECT_EQ(heard, 1);
}

TEST(Signals, EachIsHeardUntilOneEnds) {
  boost::asio::io_context io;
  int heard = 0;
  Signals signals(io, [&](int) { return ++heard == 2; });
  ASSERT_EQ(::raise(SIGHUP), 0);
  ASSERT_EQ(::raise(SIGTERM), 0);
  io.run_for(kPatience);
  EXPECT_TRUE(io.stopped());
  EXPECT_EQ(heard, 2);
}

}  // namespace
}  // namespace sluice
