// ServerTest: a fixture of GoogleTest for code that speaks to a server. The tests of a suite share
// one, on a thread of its own; each test has a space in it: data, clock and faults of its own.
//
//   class Orders : public sluice::ServerTest {};
//
//   TEST_F(Orders, AreForgotten) {
//     Shop shop("127.0.0.1", port());      // the code under test, with whatever client it has
//     clock().Freeze();
//     shop.Put("eve", "apple");
//     Advance(30min);
//     EXPECT_EQ(shop.Items("eve"), 0);
//   }
//
// It needs GoogleTest, and links what its tests link: sluice::sluice.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/embed/serving/server.h"

namespace sluice {
inline namespace v1 {

class ServerTest : public testing::Test {
 public:
  static void SetUpTestSuite() {
    running_ = std::make_unique<Server>();
    // A seed makes random choices the same in each run.
    ASSERT_EQ(running_->Start({{"test-double", "yes"}, {"seed", "1"}}), "");
  }
  static void TearDownTestSuite() { running_.reset(); }

 protected:
  void SetUp() override {
    ASSERT_TRUE(running_ && running_->running());
    space_.emplace(running_->space(SpaceName()));
  }
  void TearDown() override {
    if (!space_ || space_->Run({"PING"}).is_error()) return;  // the test has ended the server
    EXPECT_EQ(space_->Delete(), "");
  }

  static Server& server() { return *running_; }
  // This test's own. Others are made by server().space(name).
  ServerSpace& space() { return *space_; }
  // Whoever connects there, or to 127.0.0.1 and that port, is in the test's space.
  std::string url() { return space().url(); }
  int port() { return space().port(); }

  ServerClock clock() { return space().clock(); }
  ServerFaults faults() { return space().faults(); }

  // --- an error is a failure of the test
  Reply Run(std::initializer_list<std::string_view> words) {
    Reply reply = space().Run(words);
    EXPECT_FALSE(reply.is_error()) << reply.text();
    return reply;
  }
  void Advance(std::chrono::milliseconds by) { EXPECT_EQ(clock().Advance(by), ""); }
  // The rule's number.
  int64_t AddFault(std::initializer_list<std::string_view> rule) {
    std::string fault;
    const std::optional<int64_t> number = faults().Add(rule, fault);
    EXPECT_TRUE(number) << fault;
    return number.value_or(0);
  }

 private:
  // It stands in a URL.
  static std::string SpaceName() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test.test_suite_name()) + "." + test.name();
    for (char& c : name) {
      const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                            (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
      if (!is_plain) c = '-';
    }
    return name;
  }

  static inline std::unique_ptr<Server> running_;
  std::optional<ServerSpace> space_;
};

}  // namespace v1
}  // namespace sluice
