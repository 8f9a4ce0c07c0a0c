// What SLUICE.JOURNAL EXPORT writes is a transcript that plays.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/engine_fixture.h"
#include "tests/transcripts/player.h"
#include "tests/transcripts/transcript.h"

namespace sluice {
namespace {

TEST(ExportedJournal, IsATranscriptThatPlays) {
  TestEngine::Options options;
  options.test_double = true;
  TestEngine server(options);
  TestClient& tester = server.Connect();
  TestClient& early = server.Connect();
  early.Run({"hello", "3"});
  early.Run({"select", "2"});
  tester.Line("sluice.fault add command set key hit error OOM");
  tester.Line("sluice.fault add command incr after drop");
  tester.Line("sluice.journal start");

  early.Line("hset h a 1");
  early.Line("hgetall h");
  early.Send({"incr", "n"});
  early.Line("set hit 1");
  early.Line("get n");
  for (int i = 0; i < 9; ++i)
    server.Connect().Run({"set", "k" + std::to_string(i), "a b\n\"'\x01"});
  TestClient& waiting = server.Connect();
  waiting.Send({"blpop", "list", "5"});
  TestClient& other = server.Connect();
  other.Line("get k0");
  other.Line("nosuch a");
  other.Line("auth secret");
  other.Line("set lease 1 px 1000");
  server.AdvanceTime(999);
  other.Line("multi");
  other.Line("get lease");
  other.Line("rpush list x");
  other.Line("exec");
  server.AdvanceTime(1);
  other.Line("get lease");
  other.Run({"set", "long", std::string(2000, 'x')});

  const std::string text = tester.Line("sluice.journal export").text;
  EXPECT_NE(text.find("# Left out, for a fault kept it from running: set hit 1\n"), text.npos);
  EXPECT_NE(text.find("# Left out, for it has secrets: auth (redacted)\n"), text.npos);
  EXPECT_NE(text.find("# Left out, for it is too long to be kept: set long \"xx"), text.npos);
  EXPECT_NE(text.find("+ 999ms\n"), text.npos);
  EXPECT_NE(text.find("\n> incr n\n< *\n"), text.npos);
  std::istringstream lines(text);
  const Transcript transcript = ReadTranscript("exported", lines);
  EXPECT_EQ(transcript.error, "");
  ASSERT_EQ(transcript.cases.size(), 1u);
  const auto place = EnginePlace();
  for (const std::string& fault : PlayTranscript(transcript, *place)) {
    ADD_FAILURE() << fault << "\n" << text;
  }
}

}  // namespace
}  // namespace sluice
