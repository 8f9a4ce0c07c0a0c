// sluice --check-aof: names the first fault and what a repair cuts, and with --fix cuts it and
// keeps what was.
#include "storage/log/log_check.h"

#include <gtest/gtest.h>

#include "protocol/text/concat.h"
#include "storage/log/turn_writer.h"
#include "tests/support/memory_disk.h"
#include "tests/support/rdb_samples.h"

namespace sluice {
namespace {

constexpr char kBase[] = "/log/a.1.base.aof";
constexpr char kIncrement[] = "/log/a.1.incr.aof";

struct Folder {
  MemoryDisk disk;
  size_t second_turn = 0;

  Folder() {
    disk.MakeFolder("log");
    disk.files["/log/a.manifest"] =
        "file a.1.base.aof seq 1 type b\nfile a.1.incr.aof seq 1 type i\n";
    disk.files[kBase] = "*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n";
    std::string& bytes = disk.files[kIncrement];
    bytes = LogHeaderLine("boot");
    TurnWriter writer;
    const std::string_view words[] = {"INCR", "k"};
    for (int i = 0; i < 2; ++i) {
      second_turn = bytes.size();
      writer.Effect(0, words);
      bytes += writer.Take(1, bytes.size(), bytes.size());
    }
  }
  bool Check(bool fix, std::string& report) {
    report.clear();
    return CheckLog(disk, "/log", fix, {1, 2}, report);
  }
};

TEST(CheckLog, SaysThatAllIsWhole) {
  Folder folder;
  std::string report;
  EXPECT_TRUE(folder.Check(false, report));
  EXPECT_NE(report.find("a.1.base.aof: 21 bytes, 1 turns, 1 commands, not marked"), report.npos)
      << report;
  EXPECT_NE(report.find("2 turns, 2 commands\n"), report.npos) << report;
}

TEST(CheckLog, CutsWhatIsTornAndKeepsACopy) {
  Folder folder;
  std::string& bytes = folder.disk.files[kIncrement];
  bytes.pop_back();
  const std::string before = bytes;
  std::string report;
  EXPECT_FALSE(folder.Check(false, report));
  EXPECT_NE(report.find(Concat("fault behind offset ", folder.second_turn)), report.npos);
  EXPECT_NE(report.find(Concat("a crash leaves that; a repair cuts the last ",
                               before.size() - folder.second_turn)),
            report.npos)
      << report;
  EXPECT_EQ(bytes, before);
  EXPECT_TRUE(folder.Check(true, report)) << report;
  EXPECT_EQ(bytes, before.substr(0, folder.second_turn));
  EXPECT_EQ(folder.disk.files[std::string(kIncrement) + ".before-fix"], before);
  EXPECT_TRUE(folder.Check(false, report)) << report;
}

TEST(CheckLog, DoesNotCutWhatOthersFollow) {
  Folder folder;
  folder.disk.files[kBase].pop_back();
  std::string report;
  EXPECT_FALSE(folder.Check(true, report));
  EXPECT_NE(report.find("restore it from a backup"), report.npos) << report;
}

// The base of a server that came from Redis or Valkey.
TEST(CheckLog, ReadsABaseThatIsAnRdbFile) {
  const auto check = [](const std::string& base, std::string& report) {
    Folder folder;
    folder.disk.files[kBase] = base;
    return folder.Check(true, report);
  };
  for (const std::string header : {"REDIS0011", "VALKEY080"}) {
    RdbSample sample = RdbSamples().front();
    sample.header = header;
    const std::string file = sample.File();
    std::string report;
    EXPECT_TRUE(check(file, report)) << report;
    EXPECT_NE(report.find(Concat(file.size(), " bytes, an RDB file of version ",
                                 header == "VALKEY080" ? 80 : 11, ", 1 keys\n")),
              report.npos)
        << report;
    std::string damaged = file;
    damaged[damaged.size() - 1] ^= 1;
    EXPECT_FALSE(check(damaged, report)) << "its checksum is wrong";
    EXPECT_FALSE(check(file.substr(0, file.size() / 2), report));
    // Behind it stand commands, as servers before 7.0 wrote them.
    EXPECT_TRUE(check(file + "*1\r\n$4\r\nPING\r\n", report)) << report;
    EXPECT_NE(report.find("14 bytes, 1 turns, 1 commands"), report.npos) << report;
    EXPECT_FALSE(check(file + "*1\r\n", report));
    EXPECT_NE(report.find(Concat("fault behind offset ", file.size(), ": it ends in the middle")),
              report.npos)
        << report;
    EXPECT_FALSE(check(file + "garbage", report));
    const std::string key = file.substr(11, file.size() - 11 - 9);
    EXPECT_FALSE(check(SealedRdb(file.substr(0, 11) + key + key), report));
    EXPECT_NE(report.find("the key is there twice"), report.npos) << report;
  }
  std::string report;
  EXPECT_FALSE(check("VALKEY081", report)) << "of a version that no server has";
}

TEST(CheckLog, NeedsAManifestAndItsFiles) {
  Folder folder;
  folder.disk.files.erase(kBase);
  std::string report;
  EXPECT_FALSE(folder.Check(true, report));
  EXPECT_NE(report.find("No such file"), report.npos) << report;
  folder.disk.files.erase("/log/a.manifest");
  EXPECT_FALSE(folder.Check(true, report));
  EXPECT_NE(report.find("has no manifest"), report.npos) << report;
}

}  // namespace
}  // namespace sluice
