// Zone files in a folder of the test's own: sound ones, damaged ones, and what only looks like one.
#include "server/system/zone_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice {
namespace {

constexpr std::chrono::seconds kPatience(60);  // a machine under test may be slow
constexpr int64_t kSummerS = 1'718'402'400;    // 14 June 2024, 22:00 UTC

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ZoneFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "zones_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    std::filesystem::create_directory(folder_ + "/Test");
    ::setenv("TZDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TZDIR");
    std::filesystem::remove_all(folder_);
  }
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(PathOf(name), std::ios::binary) << bytes;
  }
  static ZoneFound Find(const std::string& name) { return ZoneFiles(kPatience).Read(name).found; }
  static int HourIn(const ZoneSource::Answer& zone) { return zone.rules->LocalAt(kSummerS).hour(); }

  const std::string berlin_ = BytesOf("/usr/share/zoneinfo/Europe/Berlin");
  const std::string new_york_ = BytesOf("/usr/share/zoneinfo/America/New_York");
  std::string folder_;
};

TEST_F(ZoneFilesTest, AreReadByTheirNames) {
  Write("Test/Sound", berlin_);
  ZoneFiles files(kPatience);
  const ZoneSource::Answer zone = files.Read("Test/Sound");
  ASSERT_EQ(zone.found, ZoneFound::kHere);
  EXPECT_EQ(HourIn(zone), 0);
  EXPECT_EQ(files.Read("Test/Other").found, ZoneFound::kNone);
  EXPECT_EQ(files.Read("../Test/Sound").found, ZoneFound::kNone);
  EXPECT_EQ(files.Read("/Test/Sound").found, ZoneFound::kNone);
}

// The rules that a zone had when it was named first hold as long as the process lives.
TEST_F(ZoneFilesTest, KeepTheirFirstRules) {
  Write("Test/Changing", berlin_);
  const ZoneSource::Answer first = ZoneFiles(kPatience).Read("Test/Changing");
  ASSERT_EQ(first.found, ZoneFound::kHere);
  Write("Test/Changing", new_york_);
  EXPECT_EQ(HourIn(first), 0);
  EXPECT_EQ(HourIn(ZoneFiles(kPatience).Read("Test/Changing")), 0);
  std::filesystem::remove(PathOf("Test/Changing"));
  EXPECT_EQ(HourIn(first), 0);
  EXPECT_EQ(Find("Test/Changing"), ZoneFound::kNone);
}

TEST_F(ZoneFilesTest, AreNoPipesFoldersOrGiants) {
  ASSERT_EQ(::mkfifo(PathOf("Test/Pipe").c_str(), 0600), 0);
  Write("Test/Giant", berlin_);
  std::filesystem::resize_file(PathOf("Test/Giant"), std::uintmax_t{1} << 30);
  Write("Test/Large", berlin_ + std::string(kZoneFileBytesMax, '\n'));
  Write("Test/Empty", "");
  Write("Test/Words", std::string(1000, 'x'));
  for (const std::string name : {"Pipe", "Giant", "Large", "Empty", "Words"})
    EXPECT_EQ(Find("Test/" + name), ZoneFound::kNone) << name;
  EXPECT_EQ(Find("Test"), ZoneFound::kNone);
}

// Counts of a header are what memory is taken for.
TEST_F(ZoneFilesTest, HaveTheBytesThatTheirHeadersPromise) {
  constexpr size_t kCountsAt = 20, kCountsEnd = 44;
  const size_t second = berlin_.find("TZif", 1);
  ASSERT_NE(second, std::string::npos);
  int number = 0;
  for (const size_t header : {size_t{0}, second}) {
    for (size_t at = kCountsAt; at < kCountsEnd; at += 4) {
      std::string damaged = berlin_;
      damaged.replace(header + at, 4, "\x7f\xff\xff\xff");
      const std::string name = "Test/Promise" + std::to_string(number++);
      Write(name, damaged);
      EXPECT_EQ(Find(name), ZoneFound::kNone) << header << " " << at;
    }
  }
  for (size_t size = 0; size < berlin_.size() - 64; size += 53) {
    const std::string name = "Test/Cut" + std::to_string(size);
    Write(name, berlin_.substr(0, size));
    EXPECT_EQ(Find(name), ZoneFound::kNone) << size;
  }
}

TEST_F(ZoneFilesTest, AreThereLaterForOneWithoutPatience) {
  Write("Test/Later", berlin_);
  Write("Test/Behind", new_york_);
  ZoneFiles files(std::chrono::milliseconds(0));
  for (const std::string name : {"Test/Later", "Test/Behind"}) {
    ZoneSource::Answer zone;
    do {
      zone = files.Read(name);
    } while (zone.found == ZoneFound::kNotYet);
    EXPECT_EQ(zone.found, ZoneFound::kHere) << name;
  }
}

}  // namespace
}  // namespace sluice
