// Every field that INFO writes has a row, in the order in which it is written, and no row is of a
// field that there is not. No metric, and no plot, has two rows.
#include "server/figures/sections.h"

#include <gmock/gmock.h>
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

// The row of a field that INFO has written; null: there is none.
const Figure* FindField(std::string_view title, std::string_view name) {
  for (const FigureSection& section : FigureSections()) {
    if (section.title != title) continue;
    for (const Figure& figure : section.figures) {
      if (figure.name == name) return &figure;
      const bool is_many = figure.name.ends_with('*');
      if (is_many && name.starts_with(figure.name.substr(0, figure.name.size() - 1))) {
        return &figure;
      }
    }
  }
  return nullptr;
}

// Which rows INFO has been seen to write.
class Seen {
 public:
  void Read(std::string_view info) {
    std::string_view section;
    const Figure* last = nullptr;
    while (!info.empty()) {
      const size_t end = std::min(info.find("\r\n"), info.size());
      const std::string_view line = info.substr(0, end);
      info.remove_prefix(std::min(end + 2, info.size()));
      if (line.starts_with("# ")) {
        section = line.substr(2);
        last = nullptr;
      }
      if (line.empty() || line.starts_with('#')) continue;
      const std::string_view name = line.substr(0, line.find(':'));
      const Figure* const row = FindField(section, name);
      ASSERT_NE(row, nullptr) << section << ": " << name << " has no row";
      EXPECT_GE(row, last) << section << ": the row of " << name << " stands elsewhere";
      last = row;
      rows_.push_back(row);
    }
  }
  bool Has(const Figure& row) const { return std::ranges::find(rows_, &row) != rows_.end(); }

 private:
  std::vector<const Figure*> rows_;
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

TEST(FigureSections, EachFieldHasARowAndEachRowAField) {
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
    client.Run({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
    TestClient& replica = server.Connect();
    replica.Run({"REPLCONF", "capa", "eof"});
    replica.Send({"PSYNC", "?", "-1"});
    server.Settle();
    replica.TakeBytes();
    replica.Send({"REPLCONF", "ACK", "0"});
    client.Run({"SET", "k", "that the replica lacks"});
    client.Run({"CONFIG", "SET", "min-replicas-to-write", "1"});
    server.Connect().Send({"SHUTDOWN"});  // waits for the replica
    seen.Read(Everything(client));
  }
  seen.Read(WhileLoading(options));
  TestEngine::Options doubled;
  OneSpace space;
  doubled.test_double = true;
  doubled.spaces = &space;
  TestEngine double_server(doubled);
  seen.Read(Everything(double_server.Connect()));
  TestEngine::Options follows;
  follows.config = {{"replicaof", "nowhere 1"}};
  TestEngine follower(follows);
  seen.Read(Everything(follower.Connect()));
  for (const FigureSection& section : FigureSections()) {
    for (const Figure& row : section.figures) {
      // Some are there only while an image comes from a master.
      if (row.name.empty() || row.name.starts_with("master_sync_")) continue;
      EXPECT_TRUE(seen.Has(row)) << section.title << ": INFO does not write " << row.name;
    }
  }
}

// Which of them stand there more than once.
std::vector<std::string> Doubled(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::vector<std::string> doubled;
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1]) doubled.push_back(names[i]);
  }
  return doubled;
}

TEST(FigureSections, RowsStandOnceAndSayWhatTheyAre) {
  std::vector<std::string> fields, metrics;
  for (const FigureSection& section : FigureSections()) {
    for (const Figure& row : section.figures) {
      EXPECT_FALSE(row.name.empty() && row.metric.name.empty()) << section.title;
      if (!row.metric.name.empty()) {
        metrics.emplace_back(row.metric.name);
        EXPECT_TRUE(row.metric.help.ends_with('.')) << row.metric.name;
      }
      if (row.name.empty()) continue;
      fields.push_back(Concat(section.title, ' ', row.name));
      EXPECT_FALSE(row.meaning.empty()) << row.name;
      EXPECT_EQ(row.meaning.find('|'), row.meaning.npos) << row.name;
      EXPECT_FALSE(row.meaning.ends_with('.')) << row.name;
    }
  }
  EXPECT_THAT(Doubled(fields), testing::IsEmpty());
  EXPECT_THAT(Doubled(metrics), testing::IsEmpty());
}

TEST(FigureSections, EachPlotHasOneFigure) {
  std::vector<int> rows(kPlots);
  for (const FigureSection& section : FigureSections()) {
    for (const Figure& row : section.figures) {
      if (row.plot != Plot::kNone) ++rows[static_cast<size_t>(row.plot)];
    }
  }
  EXPECT_THAT(rows, testing::Each(1));
}

// A metric tells the same as the field of its row, in the form that Prometheus reads.
TEST(FigureSections, AFigureIsReadOnceForBoth) {
  TestEngine server;
  TestClient& client = server.Connect();
  client.Run({"lock.acquire", "door", "alice", "lease", "5000"});
  FigureSources sources(server.engine().parts());
  InfoText info;
  MetricText metrics(MetricText::Form::kPrometheus);
  const Figure* const figure = FindField("Locks", "locks_held");
  figure->WriteField(sources, info);
  figure->WriteMetric(sources, metrics);
  EXPECT_EQ(info.text(), "locks_held:1\r\n");
  EXPECT_EQ(metrics.Finish(),
            "# HELP sluice_locks_held Locks with a holder.\n"
            "# TYPE sluice_locks_held gauge\nsluice_locks_held 1\n");
}

}  // namespace
}  // namespace sluice
