// Poller on real socket pairs: each edge is told once, and nothing of what was forgotten.
#include "server/net/loop/poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// One end of a pair of sockets, watched; writes down what it is told.
class End final : public ReadinessWatcher {
 public:
  End(Poller& poller, std::vector<std::string>& told, std::string name)
      : poller_(poller), told_(told), name_(std::move(name)) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_), 0);
    EXPECT_TRUE(poller_.Watch(pair_[0], *this));
  }
  ~End() override {
    Close();
    ShutPeer();
  }

  void PeerSends(const std::string& bytes) {
    EXPECT_EQ(::send(pair_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  void ShutPeer() {
    if (pair_[1] >= 0) ::close(std::exchange(pair_[1], -1));
  }
  void PeerReadsAll() {
    char bytes[65536];
    while (::recv(pair_[1], bytes, sizeof bytes, 0) > 0) {
    }
  }
  void FillAndAwait() {
    const std::string bytes(65536, 'x');
    while (::send(pair_[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
    poller_.AwaitWritable(pair_[0]);
  }
  void Close() {
    if (pair_[0] < 0) return;
    poller_.Forget(pair_[0]);
    ::close(std::exchange(pair_[0], -1));
  }

  std::function<void()> on_writable;

 private:
  void Readable(bool ended) override { told_.push_back(name_ + (ended ? " ended" : " readable")); }
  void Writable() override {
    told_.push_back(name_ + " writable");
    if (on_writable) on_writable();
  }

  Poller& poller_;
  std::vector<std::string>& told_;
  std::string name_;
  int pair_[2] = {-1, -1};
};

class PollerTest : public testing::Test {
 protected:
  PollerTest() { poller_.Tell(kNoWait); }  // there is room to write, which concerns no watcher

  static constexpr bool kNoWait = false;
  Poller poller_;
  std::vector<std::string> told_;
  End a_{poller_, told_, "a"};
  End b_{poller_, told_, "b"};

  bool is_told_ = false;

  using Told = std::vector<std::string>;
  Told Wait() {
    told_.clear();
    is_told_ = poller_.Tell(kNoWait);
    return std::move(told_);
  }
};

TEST_F(PollerTest, TellsEachArrivalOnce) {
  EXPECT_EQ(Wait(), Told());
  a_.PeerSends("x");
  b_.PeerSends("x");
  EXPECT_EQ(Wait(), (Told{"a readable", "b readable"}));
  EXPECT_EQ(Wait(), Told());
  a_.PeerSends("y");
  EXPECT_EQ(Wait(), Told{"a readable"});
}

TEST_F(PollerTest, TellsTheEndThatComesWithData) {
  a_.PeerSends("x");
  a_.ShutPeer();
  EXPECT_EQ(Wait(), Told{"a ended"});
  b_.ShutPeer();
  EXPECT_EQ(Wait(), Told{"b ended"});
}

TEST_F(PollerTest, TellsRoomOnceWhenAsked) {
  a_.FillAndAwait();
  EXPECT_EQ(Wait(), Told());
  a_.PeerReadsAll();
  EXPECT_EQ(Wait(), Told{"a writable"});
  a_.PeerReadsAll();
  EXPECT_EQ(Wait(), Told());
}

TEST_F(PollerTest, TellsNothingOfWhatWasForgotten) {
  a_.PeerSends("x");
  a_.Close();
  EXPECT_EQ(Wait(), Told());
  // Its number in use again.
  End next(poller_, told_, "next");
  next.PeerSends("x");
  EXPECT_EQ(Wait(), Told{"next readable"});
}

TEST_F(PollerTest, WhoIsToldMayCloseOthers) {
  a_.FillAndAwait();
  b_.FillAndAwait();
  EXPECT_EQ(Wait(), Told());
  a_.on_writable = [this] { b_.Close(); };
  b_.on_writable = [this] { a_.Close(); };
  a_.PeerReadsAll();
  b_.PeerReadsAll();
  EXPECT_EQ(Wait().size(), 1u);
}

TEST_F(PollerTest, SaysWhetherThereWasSomething) {
  Wait();
  EXPECT_FALSE(is_told_);
  a_.PeerSends("x");
  Wait();
  EXPECT_TRUE(is_told_);
}

TEST_F(PollerTest, WaitsUntilThereIsSomething) {
  Wait();
  std::thread peer([this] { a_.PeerSends("x"); });
  EXPECT_TRUE(poller_.Tell(/*may_wait=*/true));
  EXPECT_EQ(std::move(told_), Told{"a readable"});
  peer.join();
}

}  // namespace
}  // namespace sluice
