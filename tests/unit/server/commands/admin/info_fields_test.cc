// Every field that INFO writes has a row, in the order in which it is written, and no row is of a
// field that there is not.
#include "server/commands/admin/info_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/engine/engine.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

// Which rows INFO has been seen to write.
class Seen {
 public:
  void Read(std::string_view info) {
    std::string_view section;
    const InfoFieldRow* last = nullptr;
    while (!info.empty()) {
      const size_t end = std::min(info.find("\r\n"), info.size());
      const std::string_view line = info.substr(0, end);
      info.remove_prefix(std::min(end + 2, info.size()));
      if (line.starts_with("# ")) section = line.substr(2);
      if (line.empty() || line.starts_with('#')) continue;
      const std::string_view name = line.substr(0, line.find(':'));
      const InfoFieldRow* const row = FindInfoField(section, name);
      ASSERT_NE(row, nullptr) << section << ": " << name << " has no row in info_fields.cc";
      EXPECT_GE(row, last) << section << ": the row of " << name << " stands elsewhere";
      last = row;
      rows_.push_back(row);
    }
  }
  bool Has(const InfoFieldRow& row) const { return std::ranges::find(rows_, &row) != rows_.end(); }

 private:
  std::vector<const InfoFieldRow*> rows_;
};

// The one space of a server.
struct OneSpace final : Spaces {
  std::string_view name() const override { return kDefault; }
  Fault Enter(CommandCall&, std::string_view) override { return "ERR"; }
  std::vector<Info> List() override { return {}; }
  bool Delete(std::string_view) override { return false; }
  Fault Copy(std::string_view, std::string_view) override { return "ERR"; }
  int Listen(std::string_view, std::string&) override { return -1; }
  Fault Reset(CommandCall&) override { return "ERR"; }
};

std::string Everything(TestClient& client) { return client.Run({"INFO", "everything"}).text; }

// Of a server that is loading, which answers before it has done so.
std::string WhileLoading(const TestEngine::Options& options) {
  TestEngine::Options again = options;
  again.unix_ms += 1000;
  TestEngine server(again);
  server.set_tick_step(3'000'000);  // a slice of the loading ends soon
  TestClient& client = server.ConnectOnly();
  server.engine().Receive(client.id(), "INFO everything\r\n");
  server.Turn();
  std::string answer = client.TakeBytes();
  answer.erase(0, answer.find("\r\n") + 2);
  EXPECT_NE(answer.find("loading:1"), std::string::npos);
  return answer.substr(0, answer.rfind("\r\n"));
}

TEST(InfoFields, EachFieldHasARowAndEachRowAField) {
  MemoryDisk disk;
  TestEngine::Options options;
  options.disk = &disk;
  options.config = {{"appendonly", "yes"}, {"metrics-prefixes", "door:"}};
  Seen seen;
  {
    TestEngine server(options);
    TestClient& client = server.Connect();
    client.Run({"SET", "k", "v"});
    client.Run({"NOSUCH"});
    for (int i = 0; i < 500; ++i) client.Run({"SET", Concat("k", i), "v"});
    seen.Read(Everything(client));
  }
  seen.Read(WhileLoading(options));
  TestEngine::Options doubled;
  OneSpace space;
  doubled.test_double = true;
  doubled.spaces = &space;
  TestEngine double_server(doubled);
  seen.Read(Everything(double_server.Connect()));
  for (const InfoFieldRow& row : InfoFieldRows())
    EXPECT_TRUE(seen.Has(row)) << row.section << ": INFO does not write " << row.name;
}

TEST(InfoFields, RowsStandTogetherAndOnce) {
  const auto rows = InfoFieldRows();
  std::vector<std::string> names;
  std::vector<std::string_view> sections;
  for (const InfoFieldRow& row : rows) {
    names.push_back(Concat(row.section, ' ', row.name));
    if (sections.empty() || sections.back() != row.section) sections.push_back(row.section);
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_EQ(row.meaning.find('|'), row.meaning.npos) << row.name;
    EXPECT_FALSE(row.meaning.ends_with('.')) << row.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  std::ranges::sort(sections);
  EXPECT_EQ(std::ranges::adjacent_find(sections), sections.end());
}

}  // namespace
}  // namespace sluice
