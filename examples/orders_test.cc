// A GoogleTest suite of code that speaks to a server, here by hiredis: each test has a server to
// itself, whose time it moves and which fails when it is told to. Nothing sleeps.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <memory>
#include <string>

#include "sluice/testing.h"

using namespace std::chrono_literals;

namespace {

// What is tested: orders that are paid within half an hour, each once.
class Orders {
 public:
  explicit Orders(int port) : port_(port) {}

  void Place(const std::string& order) { Ask("SET order:%s placed EX 1800", order); }
  bool IsOpen(const std::string& order) { return Ask("EXISTS order:%s", order) == 1; }
  // Asks again where it does not know whether it was heard. That must not charge twice.
  void Pay(const std::string& order) {
    while (Ask("EVAL %b 2 order:%s paid", order, kPay) < 0) {
    }
  }
  int64_t Paid() { return Ask("SCARD paid%s", ""); }

 private:
  static constexpr char kPay[] =
      "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('SADD', KEYS[2], KEYS[1]) end "
      "return redis.call('SISMEMBER', KEYS[2], KEYS[1])";

  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

  // Below zero: there was no answer.
  int64_t Ask(const char* format, const std::string& order, const std::string& script = {}) {
    if (!link_ || link_->err) link_.reset(redisConnect("127.0.0.1", port_));
    if (!link_ || link_->err) return -1;
    void* const answer = script.empty() ? redisCommand(link_.get(), format, order.c_str())
                                        : redisCommand(link_.get(), format, script.data(),
                                                       script.size(), order.c_str());
    const Reply reply(static_cast<redisReply*>(answer), freeReplyObject);
    return !reply || reply->type == REDIS_REPLY_ERROR ? -1 : reply->integer;
  }

  const int port_;
  std::unique_ptr<redisContext, void (*)(redisContext*)> link_{nullptr, redisFree};
};

class OrdersTest : public sluice::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    clock().Freeze();
    orders_ = std::make_unique<Orders>(port());
  }
  std::unique_ptr<Orders> orders_;
};

TEST_F(OrdersTest, AreForgottenWhenNobodyPays) {
  orders_->Place("17");
  Advance(30min - 1ms);
  EXPECT_TRUE(orders_->IsOpen("17"));
  Advance(1ms);
  EXPECT_FALSE(orders_->IsOpen("17"));
}

TEST_F(OrdersTest, ArePaidOnceThoughTheAnswerIsLost) {
  orders_->Place("17");
  const int64_t lost = AddFault({"COMMAND", "EVAL", "AFTER", "TIMES", "1", "CLOSE"});
  orders_->Pay("17");
  EXPECT_EQ(faults().Hits(lost), 1);
  EXPECT_EQ(orders_->Paid(), 1);
}

TEST_F(OrdersTest, ArePaidWhenTheServerHasRoomAgain) {
  orders_->Place("17");
  AddFault({"COMMAND", "EVAL", "TIMES", "2", "STATE", "OOM"});
  orders_->Pay("17");
  EXPECT_EQ(orders_->Paid(), 1);
}

// Tests share nothing, whatever they have left.
TEST_F(OrdersTest, OfOtherTestsAreNotSeen) { EXPECT_TRUE(Run({"KEYS", "*"}).elements().empty()); }

}  // namespace
