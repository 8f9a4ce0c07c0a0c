// The transcripts as tests, one a file, and the test that every row of the command table is in one.
//
//   transcripts [folder] [--redis]     --redis: on redis-server instead, what it knows of them
//
// SLUICE_WAIT_MS raises the longest wait of a case that is played on redis-server, where time is
// real.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/commands/families.h"
#include "tests/transcripts/player.h"
#include "tests/transcripts/transcript.h"

namespace sluice {
namespace {

constexpr int64_t kWaitMsMax = 1500;

class PlayedTranscript final : public testing::Test {
 public:
  PlayedTranscript(Transcript transcript, bool on_redis)
      : transcript_(std::move(transcript)), on_redis_(on_redis) {}

  void TestBody() override {
    ASSERT_EQ(transcript_.error, "") << transcript_.name;
    const char* wait = std::getenv("SLUICE_WAIT_MS");
    const auto place =
        on_redis_ ? RedisPlace(wait ? std::strtoll(wait, nullptr, 10) : kWaitMsMax) : EnginePlace();
    for (const std::string& fault : PlayTranscript(transcript_, *place)) ADD_FAILURE() << fault;
  }

 private:
  Transcript transcript_;
  bool on_redis_;
};

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Every row that no transcript mentions fails this test.
class EveryRow final : public testing::Test {
 public:
  explicit EveryRow(const std::vector<Transcript>& transcripts) {
    for (const Transcript& transcript : transcripts) {
      for (const TranscriptCase& played : transcript.cases) {
        for (const TranscriptStep& step : played.steps) Mention(step.arguments);
      }
    }
  }

  void TestBody() override {
    for (const CommandFamily& family : AllFamilies()) {
      for (const CommandSpec& row : family.rows) {
        Expect(std::string(row.name));
        for (const CommandSpec& subcommand : row.subcommands) {
          Expect(std::string(row.name) + " " + std::string(subcommand.name));
        }
      }
    }
    EXPECT_EQ(missing_, "") << "no transcript in tests/transcripts plays these";
  }

 private:
  void Mention(const std::vector<std::string>& arguments) {
    if (arguments.empty()) return;
    mentioned_.insert(Upper(arguments[0]));
    if (arguments.size() > 1) mentioned_.insert(Upper(arguments[0] + " " + arguments[1]));
  }
  void Expect(const std::string& name) {
    if (!mentioned_.contains(name)) missing_ += "\n  " + name;
  }

  std::set<std::string> mentioned_;
  std::string missing_;
};

void Register(const std::vector<Transcript>& transcripts, bool on_redis) {
  for (const Transcript& transcript : transcripts) {
    testing::RegisterTest(on_redis ? "Redis" : "Engine", transcript.name.c_str(), nullptr, nullptr,
                          __FILE__, __LINE__, [&transcript, on_redis]() -> testing::Test* {
                            return new PlayedTranscript(transcript, on_redis);
                          });
  }
  if (on_redis) return;
  testing::RegisterTest("Engine", "EveryRowHasATranscript", nullptr, nullptr, __FILE__, __LINE__,
                        [&transcripts]() -> testing::Test* { return new EveryRow(transcripts); });
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string folder = "tests/transcripts";
  bool on_redis = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--redis") {
      on_redis = true;
    } else {
      folder = argv[i];
    }
  }
  const std::vector<sluice::Transcript> transcripts = sluice::ReadTranscripts(folder);
  sluice::Register(transcripts, on_redis);
  return RUN_ALL_TESTS();
}
