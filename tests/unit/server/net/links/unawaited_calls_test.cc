// Calls that hang hold nobody up: neither the loop, nor its end, nor the calls behind them.
#include "server/net/links/unawaited_calls.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

namespace sluice {
namespace {

struct UnawaitedCallsTest : testing::Test {
  Poller poller;
  int woken = 0;
  std::unique_ptr<UnawaitedCalls> calls =
      std::make_unique<UnawaitedCalls>(poller, [this] { ++woken; });

  void AwaitWaking() {
    const int before = woken;
    while (woken == before) {
      pollfd ready{.fd = poller.descriptor(), .events = POLLIN};
      ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
      poller.Tell(/*may_wait=*/false);
    }
    calls->Advance();
  }
};

TEST_F(UnawaitedCallsTest, WhatFollowsRunsOnTheLoop) {
  auto said = std::make_shared<std::string>();
  std::string heard;
  EXPECT_NE(calls->Run([said] { *said = "words"; }, [&heard, said] { heard = *said; }), 0u);
  AwaitWaking();
  EXPECT_EQ(heard, "words");
}

TEST_F(UnawaitedCallsTest, OneThatIsForgottenIsNotFollowed) {
  bool is_followed = false;
  calls->Forget(calls->Run([] {}, [&] { is_followed = true; }));
  AwaitWaking();
  EXPECT_FALSE(is_followed);
}

TEST_F(UnawaitedCallsTest, OneThatHangsKeepsNobody) {
  auto go = std::make_shared<std::binary_semaphore>(0);
  auto end = std::make_shared<std::binary_semaphore>(0);
  calls->Run([go, end] { go->acquire(), end->release(); }, [] { ADD_FAILURE(); });
  bool is_through = false;
  calls->Run([] {}, [&] { is_through = true; });
  AwaitWaking();
  EXPECT_TRUE(is_through);
  calls.reset();
  go->release();
  end->acquire();
}

TEST_F(UnawaitedCallsTest, SoManyMayHang) {
  auto go = std::make_shared<std::counting_semaphore<>>(0);
  for (size_t i = 0; i < UnawaitedCalls::kThreadsMax; ++i) {
    EXPECT_NE(calls->Run([go] { go->acquire(); }, [] {}), 0u);
  }
  EXPECT_EQ(calls->Run([] {}, [] {}), 0u);
  go->release();
  AwaitWaking();
  EXPECT_NE(calls->Run([] {}, [] {}), 0u);
  go->release(UnawaitedCalls::kThreadsMax - 1);
}

}  // namespace
}  // namespace sluice
