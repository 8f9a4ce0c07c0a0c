// The letters of notify-keyspace-events are read and shown as Redis 7.0.15 does.
#include "server/config/event_classes.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

// What is given, and how Redis 7.0.15 shows it again.
constexpr std::pair<std::string_view, std::string_view> kCanonical[] = {
    {"", ""},     {"xK", "xK"},     {"KEA", "AKE"}, {"g$lshzxetd", "A"}, {"AKEmn", "AKEm"},
    {"nE", "nE"}, {"EKng", "gnKE"}, {"KAL", "AKL"}, {"LmE", "EmL"},      {"td$lshzxe", "$lshzxetd"},
};

TEST(EventClassesTest, AreShownInRedissOrder) {
  for (const auto& [given, shown] : kCanonical) {
    const std::optional<uint32_t> classes = ParseEventClasses(given);
    ASSERT_TRUE(classes) << given;
    EXPECT_EQ(EventClassLetters(*classes), shown) << given;
  }
}

TEST(EventClassesTest, UnknownLettersAreFaults) {
  for (const std::string_view given : {"q", "K E", "KEa", "A "}) {
    EXPECT_FALSE(ParseEventClasses(given)) << given;
  }
}

TEST(EventClassesTest, AllLeavesOutMissesNewKeysAndLocks) {
  EXPECT_EQ(*ParseEventClasses("A") & (kNotifyKeyMiss | kNotifyNew | kNotifyLock), 0u);
}

}  // namespace
}  // namespace sluice
