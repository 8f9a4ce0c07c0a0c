// A GoogleTest suite of code that uses a database: each test has one of its own, in memory, and
// time that it moves itself. Nothing sleeps.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "sluice/database.h"

using namespace std::chrono_literals;

namespace {

// What is tested: a basket that is forgotten after half an hour, and three attempts at a voucher.
class Shop {
 public:
  explicit Shop(sluice::Database& db) : db_(db) {}
  void Put(const std::string& customer, const std::string& item) {
    db_.Run({"SADD", "basket:" + customer, item});
    db_.Run({"EXPIRE", "basket:" + customer, "1800"});
  }
  int64_t Items(const std::string& customer) {
    return db_.Run({"SCARD", "basket:" + customer}).integer();
  }
  bool MayTryVoucher(const std::string& customer) {
    return static_cast<bool>(db_.Take("voucher:" + customer, sluice::RequestLog{3, 1min}));
  }

 private:
  sluice::Database& db_;
};

class ShopTest : public testing::Test {
 protected:
  sluice::ManualTime time_;
  std::string fault_;
  sluice::Database db_ = *sluice::Database::Open({.time = &time_, .seed = 1}, fault_);
  Shop shop_{db_};

  void Pass(sluice::Time by) { db_.RunUntil(db_.Now() + by); }
};

TEST_F(ShopTest, BasketsAreForgotten) {
  shop_.Put("eve", "apple");
  Pass(29min);
  shop_.Put("eve", "pear");
  Pass(29min);
  EXPECT_EQ(shop_.Items("eve"), 2);
  Pass(1min);
  EXPECT_EQ(shop_.Items("eve"), 0);
}

TEST_F(ShopTest, VouchersAreNotGuessed) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(shop_.MayTryVoucher("eve"));
  EXPECT_FALSE(shop_.MayTryVoucher("eve"));
  EXPECT_TRUE(shop_.MayTryVoucher("adam"));
  Pass(1min);
  EXPECT_TRUE(shop_.MayTryVoucher("eve"));
}

}  // namespace
