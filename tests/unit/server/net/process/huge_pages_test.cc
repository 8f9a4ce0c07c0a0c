// HugePages: what the allocator is given, and which memory the system has been told of, as /proc
// shows it.
#include "server/net/process/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sluice {
namespace {

// What an allocator would have been given.
struct Given {
  char* begin;
  size_t bytes;
};
std::vector<Given>& AllGiven() {
  static std::vector<Given> all;
  return all;
}
bool Take(void* begin, size_t bytes) {
  AllGiven().push_back({static_cast<char*>(begin), bytes});
  return true;
}
bool Refuse(void* begin, size_t bytes) {
  Take(begin, bytes);
  return false;
}

class HugePagesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good())
      GTEST_SKIP() << "the system has no huge pages";
  }
  void TearDown() override {
    for (const Given& given : AllGiven()) munmap(given.begin, given.bytes);
    AllGiven().clear();
  }
};

// What the system has noted of the memory there: a list of two letters each ("rd wr mr hg").
std::string FlagsAt(const char* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    uintptr_t first = 0, last = 0;
    char dash = 0;
    if (words >> std::hex >> first >> dash >> last && dash == '-') {
      const auto at = reinterpret_cast<uintptr_t>(address);
      is_there = first <= at && at < last;
    } else if (is_there && line.starts_with("VmFlags:")) {
      return line + ' ';
    }
  }
  return {};
}

bool IsAdvised(const char* address) { return FlagsAt(address).find(" hg ") != std::string::npos; }

TEST_F(HugePagesTest, AreAskedForInARegionOfTheAllocatorsUntilItIsOver) {
  HugePages pages(Take);
  pages.Expect(3 * kRegionBytes - 1);
  ASSERT_EQ(AllGiven().size(), 1u);
  const Given given = AllGiven()[0];
  EXPECT_EQ(reinterpret_cast<uintptr_t>(given.begin) % kRegionBytes, 0u);
  EXPECT_EQ(given.bytes, 3 * kRegionBytes);
  mprotect(given.begin + kRegionBytes, kRegionBytes, PROT_READ | PROT_WRITE);  // as an allocator
  given.begin[kRegionBytes] = 1;
  EXPECT_TRUE(IsAdvised(given.begin));
  EXPECT_TRUE(IsAdvised(given.begin + kRegionBytes));
  EXPECT_TRUE(IsAdvised(given.begin + given.bytes - 1));
  pages.Expect(0);
  EXPECT_FALSE(IsAdvised(given.begin));
  EXPECT_FALSE(IsAdvised(given.begin + kRegionBytes));
  EXPECT_EQ(given.begin[kRegionBytes], 1);
}

TEST_F(HugePagesTest, ARegionServesAgainAndNewOnesAreFew) {
  HugePages pages(Take);
  for (int i = 0; i < 5; ++i) {
    pages.Expect(4 * kRegionBytes);
    EXPECT_TRUE(IsAdvised(AllGiven()[0].begin));
    pages.Expect(0);
  }
  EXPECT_EQ(AllGiven().size(), 1u);
  for (size_t regions = 5; regions <= 32; ++regions) pages.Expect(regions * kRegionBytes);
  ASSERT_EQ(AllGiven().size(), 4u);
  EXPECT_EQ(AllGiven()[1].bytes, 4 * kRegionBytes);
  EXPECT_EQ(AllGiven()[2].bytes, 8 * kRegionBytes);
  EXPECT_EQ(AllGiven()[3].bytes, 16 * kRegionBytes);
  EXPECT_TRUE(IsAdvised(AllGiven()[0].begin));
  EXPECT_TRUE(IsAdvised(AllGiven()[3].begin));
}

TEST_F(HugePagesTest, AnAllocatorThatTakesNoRegionsIsAskedOnce) {
  HugePages pages(Refuse);
  pages.Expect(kRegionBytes);
  pages.Expect(kRegionBytes);
  ASSERT_EQ(AllGiven().size(), 1u);
  EXPECT_EQ(FlagsAt(AllGiven()[0].begin), "");
  AllGiven().clear();  // it is no memory any more
}

TEST_F(HugePagesTest, NoMoreAddressesAreTakenThanTheMachineHasMemory) {
  HugePages pages(Take);
  pages.Expect(UINT64_MAX / 2);
  ASSERT_EQ(AllGiven().size(), 1u);
  EXPECT_LE(AllGiven()[0].bytes, static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                                         static_cast<size_t>(sysconf(_SC_PAGESIZE)) +
                                     kRegionBytes);
}

}  // namespace
}  // namespace sluice
