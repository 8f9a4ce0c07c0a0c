// The manifest: what Redis writes is read, what is written is read back, and what is damaged or
// names files elsewhere is refused with its line.
#include "storage/log/manifest.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Kind = Manifest::Kind;

std::string Fault(std::string_view text) {
  Manifest manifest;
  return ReadManifest(text, manifest);
}

TEST(Manifest, ReadsWhatRedisWrites) {
  Manifest manifest;
  EXPECT_EQ(ReadManifest("file appendonly.aof.2.base.rdb seq 2 type b\n"
                         "# a comment\n"
                         "file appendonly.aof.1.incr.aof seq 1 type h\n"
                         "file \"my log.aof.2.incr.aof\" seq 2 type i\n"
                         "file appendonly.aof.3.incr.aof seq 3 type i\n",
                         manifest),
            "");
  ASSERT_NE(manifest.base(), nullptr);
  EXPECT_EQ(manifest.base()->name, "appendonly.aof.2.base.rdb");
  const std::vector<Manifest::File> wanted = {{"my log.aof.2.incr.aof", 2, Kind::kIncrement},
                                              {"appendonly.aof.3.incr.aof", 3, Kind::kIncrement}};
  EXPECT_EQ(manifest.increments(), wanted);
  EXPECT_EQ(manifest.NextNumber(Kind::kIncrement), 4);
  EXPECT_EQ(manifest.NextNumber(Kind::kBase), 3);
}

TEST(Manifest, WritesWhatItReads) {
  Manifest manifest;
  manifest.files = {{"a b\"c.aof.1.base.aof", 1, Kind::kBase},
                    {"a.aof.1.incr.aof", 1, Kind::kIncrement},
                    {"a.aof.7.incr.aof", 7, Kind::kIncrement}};
  Manifest read;
  EXPECT_EQ(ReadManifest(WriteManifest(manifest), read), "");
  EXPECT_EQ(read, manifest);
}

TEST(Manifest, RefusesFilesOfOtherFolders) {
  for (const std::string name : {"/etc/passwd", "../a", "..", ".", "a/b", "\"\"", "\"a\\x00b\""}) {
    const std::string fault = Fault("file " + name + " seq 1 type i\n");
    EXPECT_TRUE(fault.starts_with("line 1: ")) << name << ": " << fault;
  }
}

TEST(Manifest, NamesTheLineThatIsWrong) {
  const std::string good = "file a seq 1 type i\n";
  const std::pair<std::string, std::string> kCases[] = {
      {"file b seq 1 type i\n", "its number is not above those before"},
      {"file a seq 2 type i\n", "its file is named twice"},
      {"file b seq 0 type i\n", "its number is not one of 1 to 2^63 - 2"},
      {"file b seq 99999999999999999999 type i\n", "its number is not one of 1 to 2^63 - 2"},
      {"file b seq 9223372036854775807 type i\n", "its number is not one of 1 to 2^63 - 2"},
      {"file b seq 2 type x\n", "its type is unknown"},
      {"file b seq 2\n", "it does not name a file"},
      {"file b seq 2 seq 3\n", "it does not say all of a file"},
      {"file b seq 2 type\n", "it does not name a file"},
      {"\n", "it does not name a file"},
      {"file \"b seq 2 type i\n", "its quotes are wrong"},
      {"file b seq 2 type i", "it is not complete"},
      {"file " + std::string(2000, 'b') + " seq 2 type i\n", "it is too long"},
      {"file " + std::string(300, 'b') + " seq 2 type i\n", "its file is not one of this folder"},
  };
  for (const auto& [line, fault] : kCases) EXPECT_EQ(Fault(good + line), "line 2: " + fault);
  EXPECT_EQ(Fault("file a seq 1 type b\nfile b seq 2 type b\n"), "line 2: it names a second base");
}

TEST(Manifest, EveryCutIsRefusedOrAPrefix) {
  const std::string text = "file a.1.base.aof seq 1 type b\nfile a.2.incr.aof seq 2 type i\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const bool whole_lines = cut == 0 || text[cut - 1] == '\n';
    EXPECT_EQ(Fault(text.substr(0, cut)).empty(), whole_lines) << cut;
  }
}

}  // namespace
}  // namespace sluice
