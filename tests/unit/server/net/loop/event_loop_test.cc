// The loop and what makes calls on it: descriptors, other threads, alarms and signals.
#include "server/net/loop/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "server/net/loop/alarms.h"
#include "server/net/signals.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

struct EventLoopTest : testing::Test {
  EventLoopTest() { Look(); }  // there is room to write, of which nobody is told

  static void Ring(int descriptor) {
    const uint64_t one = 1;
    ASSERT_EQ(::write(descriptor, &one, sizeof one), ssize_t{sizeof one});
  }
  static int NewBell() { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
  bool Look() { return loop.Round(/*may_wait=*/false); }

  EventLoop loop;
  std::string told;
};

TEST_F(EventLoopTest, CallsOnceForEachEdge) {
  DescriptorCall bell(loop, [this] { told += "rung "; });
  ASSERT_TRUE(bell.Open(NewBell()));
  Look();  // there is room to write
  told.clear();
  EXPECT_FALSE(Look());
  Ring(bell.descriptor());
  EXPECT_TRUE(Look());
  EXPECT_FALSE(Look());
  Ring(bell.descriptor());
  EXPECT_TRUE(Look());
  EXPECT_EQ(told, "rung rung ");
}

// The first of two that are due in one round closes the second.
TEST_F(EventLoopTest, WhatIsClosedIsNotCalled) {
  DescriptorCall second(loop, [this] { told += "second "; });
  DescriptorCall first(loop, [&] {
    told += "first ";
    second.Close();
  });
  ASSERT_TRUE(first.Open(NewBell()));
  ASSERT_TRUE(second.Open(NewBell()));
  Ring(first.descriptor());
  Ring(second.descriptor());
  Look();
  EXPECT_EQ(told, "first ");
  EXPECT_FALSE(second.open());
}

TEST_F(EventLoopTest, RefusesWhatCannotBeWatched) {
  DescriptorCall call(loop, [] {});
  EXPECT_FALSE(call.Open(-1));
  const int file = ::memfd_create("file", MFD_CLOEXEC);  // can always be read
  EXPECT_FALSE(call.Open(file));
  EXPECT_EQ(errno, EPERM);
  EXPECT_FALSE(call.open());
  EXPECT_EQ(::fcntl(file, F_GETFD), -1);  // it is closed
}

TEST_F(EventLoopTest, MakesWhatOtherThreadsPost) {
  std::thread::id made_on;
  std::thread other([&] { loop.Post([&] { made_on = std::this_thread::get_id(); }); });
  loop.Round(/*may_wait=*/true);
  other.join();
  EXPECT_EQ(made_on, std::this_thread::get_id());
}

TEST_F(EventLoopTest, WhatACallPostsIsForTheNextRound) {
  loop.Post([this] {
    told += "first ";
    loop.Post([this] { told += "third "; });
  });
  loop.Post([this] { told += "second "; });
  Look();
  EXPECT_EQ(told, "first second ");
  Look();
  EXPECT_EQ(told, "first second third ");
}

// As inside a long command, which serves others.
TEST_F(EventLoopTest, ARoundInsideACallGoesOnWithTheOthers) {
  loop.Post([this] {
    loop.Post([this] { told += "inner "; });
    Look();
    told += "first ";
  });
  loop.Post([this] { told += "second "; });
  Look();
  EXPECT_EQ(told, "second inner first ");
}

TEST_F(EventLoopTest, AlarmsGoOffInTheirOrder) {
  Alarms alarms(loop);
  ASSERT_TRUE(alarms.open());
  int calls = 0;
  alarms.Set(milliseconds(100), [&] { told += "late ", ++calls; });  // however slowly these follow
  alarms.Set(milliseconds(1), [&] {
    told += "early ", ++calls;
    alarms.Set(milliseconds(0), [&] { ++calls; });
  });
  const Alarms::Id cancelled = alarms.Set(milliseconds(2), [&] { told += "cancelled "; });
  alarms.Cancel(cancelled);
  while (calls < 3) loop.Round(/*may_wait=*/true);
  EXPECT_EQ(told, "early late ");
}

TEST_F(EventLoopTest, NoAlarmGoesOffOnceStopped) {
  Alarms alarms(loop);
  alarms.Set(milliseconds(0), [&] { told += "set "; });
  alarms.Stop();
  alarms.Set(milliseconds(0), [&] { told += "set-later "; });
  Look();
  EXPECT_EQ(told, "");
}

struct SignalsTest : EventLoopTest {
  SignalsTest() { ::pthread_sigmask(SIG_SETMASK, nullptr, &before); }
  ~SignalsTest() override { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  sigset_t before;
};

TEST_F(SignalsTest, AreReadOnTheLoopUntilOneEndsIt) {
  std::vector<int> come;
  Signals signals(loop, [&](int signal) {
    come.push_back(signal);
    return signal == SIGTERM;
  });
  ::raise(SIGHUP);
  ::raise(SIGUSR2);
  EXPECT_TRUE(come.empty());
  Look();
  EXPECT_EQ(come, (std::vector{SIGHUP, SIGUSR2}));
  ::raise(SIGTERM);
  Look();
  EXPECT_EQ(come.back(), SIGTERM);
  ::raise(SIGHUP);  // is heard by nobody
  Look();
  EXPECT_EQ(come.size(), 3u);
  const timespec none{};
  sigset_t left;
  ::sigemptyset(&left);
  ::sigaddset(&left, SIGHUP);
  EXPECT_EQ(::sigtimedwait(&left, nullptr, &none), SIGHUP);
}

}  // namespace
}  // namespace sluice
