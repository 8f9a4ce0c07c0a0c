// What is said to a master, and what its answers are taken for. Bytes are a peer's: each answer is
// cut at every byte, too.
#include "server/following/handshake.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/reply_reader.h"

namespace sluice {
namespace {

const std::string kSomeId(40, 'a');
const std::string kOtherId(40, 'b');
constexpr std::string_view kFourOk = "+OK\r\n+OK\r\n";

class HandshakeWith {
 public:
  explicit HandshakeWith(Introduction introduction = {})
      : handshake_(std::move(introduction),
                   [this](LogLevel, std::string_view line) { log_.emplace_back(line); }) {
    handshake_.Begin(out_);
  }

  // What is said to these bytes, with `_` for spaces between words.
  std::string Answer(std::string_view bytes, size_t piece = SIZE_MAX) {
    for (size_t at = 0; at < bytes.size(); at += std::min(piece, bytes.size() - at)) {
      pending_ += bytes.substr(at, piece);
      pending_.erase(0, handshake_.Take(pending_, out_));
    }
    return Said();
  }
  std::string Said() {
    std::string said;
    ReplyReader reader;
    while (const std::optional<Reply> request = reader.Read(out_)) {
      for (const Reply& word : request->elements) said += word.text + " ";
      said += "/ ";
      out_.erase(0, reader.consumed());
    }
    return said;
  }
  const Agreement& agreement() const { return handshake_.agreement(); }
  const Handshake& handshake() const { return handshake_; }
  const std::string& left() const { return pending_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  std::vector<std::string> log_;
  std::string out_;
  std::string pending_;
  Handshake handshake_;
};

Introduction Known() { return {.port = 6380, .place = Introduction::Place{kSomeId, 99}}; }

// Whatever it says, the log has short lines of printed letters.
TEST(Handshake, WordsOfTheMasterAreEscapedInTheLog) {
  HandshakeWith master(Known());
  master.Answer(std::string("+PONG\r\n-ERR a\x1b[2J\x01 b\r\n") + "+OK\r\n+sluice 7\r\n-ERR " +
                std::string(900, '\xff') + "\r\n");
  bool any = false;
  for (const std::string& line : master.log()) {
    any |= line.find("-ERR a\\x1b[2J\\x01 b") != std::string::npos;
    EXPECT_LT(line.size(), 1200u);
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
  }
  EXPECT_TRUE(any);
}

TEST(Handshake, SaysWhatRedisSaysAndAsksWhoseStreamItIs) {
  HandshakeWith master({.user = "me",
                        .password = "secret",
                        .port = 6380,
                        .address = "10.0.0.7",
                        .run_id = std::string(40, 'f'),
                        .link_id = std::string(40, 'e')});
  EXPECT_EQ(master.Said(), "PING / ");
  EXPECT_EQ(master.Answer("-NOAUTH Authentication required.\r\n"),
            "AUTH me secret / REPLCONF listening-port 6380 / REPLCONF ip-address 10.0.0.7 / "
            "REPLCONF capa eof capa psync2 capa sluice / REPLCONF sluice-stream " +
                std::string(40, 'e') + " / ");
  EXPECT_EQ(master.Answer("+OK\r\n+OK\r\n+OK\r\n+OK\r\n"), "");
  EXPECT_EQ(master.Answer("+sluice 7\r\n"), "PSYNC ? -1 / ");
  EXPECT_TRUE(master.handshake().is_with_sluice());
  EXPECT_EQ(master.handshake().origin(), (StreamOrigin{StreamKind::kOfSluice, 7}));
}

TEST(Handshake, AServerFindsItself) {
  const std::string run_id(40, 'f');
  HandshakeWith other({.port = 6380, .run_id = run_id});
  other.Answer("+PONG\r\n");
  EXPECT_EQ(other.Answer(std::string(kFourOk) + "+sluice 7 " + std::string(40, 'e') + "\r\n"),
            "PSYNC ? -1 / ");
  EXPECT_EQ(other.handshake().origin(), (StreamOrigin{StreamKind::kOfSluice, 7}));
  HandshakeWith itself({.port = 6380, .run_id = run_id});
  itself.Answer("+PONG\r\n");
  EXPECT_EQ(itself.Answer(std::string(kFourOk) + "+sluice 7 " + run_id + "\r\n", 1), "");
  EXPECT_EQ(itself.agreement().kind, Agreement::Kind::kLater);
  EXPECT_NE(itself.agreement().why_not.find("this server itself"), std::string::npos);
}

// It may become a master before it is asked what it is.
TEST(Handshake, ASluiceWithoutAStreamIsNotAskedForItsRole) {
  HandshakeWith master(Known());
  master.Answer("+PONG\r\n");
  EXPECT_EQ(master.Answer(std::string(kFourOk) + "+none 0 " + kOtherId + "\r\n"),
            "PSYNC " + kSomeId + " 100 / ");
  EXPECT_TRUE(master.handshake().is_with_sluice());
  EXPECT_EQ(master.handshake().master_run_id(), kOtherId);
  EXPECT_FALSE(master.handshake().origin());
}

TEST(Handshake, ARedisServerTellsItsRole) {
  const struct {
    std::string info;
    std::optional<StreamOrigin> origin;
  } kCases[] = {
      {"role:master\r\nsecond_repl_offset:-1\r\n", StreamOrigin{StreamKind::kOfRedis, 0}},
      {"role:master\r\nsecond_repl_offset:51\r\n", StreamOrigin{StreamKind::kOfRedis, 51}},
      {"role:slave\r\nsecond_repl_offset:51\r\n", std::nullopt},
  };
  for (const auto& [text, origin] : kCases) {
    HandshakeWith master(Known());
    master.Answer("+PONG\r\n");
    EXPECT_EQ(master.Answer(std::string(kFourOk) + "-ERR Unrecognized REPLCONF option\r\n"),
              "INFO replication / ");
    const std::string answer = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    EXPECT_EQ(master.Answer(answer, 1), "PSYNC " + kSomeId + " 100 / ");
    EXPECT_EQ(master.handshake().origin(), origin) << text;
    EXPECT_FALSE(master.handshake().is_with_sluice());
  }
}

// As far as PSYNC.
void Introduce(HandshakeWith& master) {
  master.Answer("+PONG\r\n");
  master.Answer(std::string(kFourOk) + "+sluice 0\r\n");
}

TEST(Handshake, WhatFollowsTheLastAnswerIsLeft) {
  HandshakeWith master(Known());
  Introduce(master);
  master.Answer("\n\r\n+CONTINUE " + kOtherId + "\r\n*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(master.agreement().kind, Agreement::Kind::kContinue);
  EXPECT_EQ(master.agreement().id, kOtherId);
  EXPECT_EQ(master.left(), "*1\r\n$4\r\nPING\r\n");
}

TEST(Handshake, AFullSyncHasAPlaceAndOfASluiceMore) {
  HandshakeWith master;
  Introduce(master);
  master.Answer("+FULLRESYNC " + kSomeId + " 12 3 sluice -5 77\r\n", 1);
  EXPECT_EQ(master.agreement().kind, Agreement::Kind::kFullSync);
  EXPECT_EQ(master.agreement().offset, 12);
  const StreamReading expected{StreamKind::kOfSluice, 3, -5, 77};
  EXPECT_EQ(master.agreement().reading, expected);
  EXPECT_FALSE(master.agreement().reserved);
  HandshakeWith redis;
  Introduce(redis);
  redis.Answer("+FULLRESYNC " + kSomeId + " 12\r\n");
  EXPECT_EQ(redis.agreement().kind, Agreement::Kind::kFullSync);
  EXPECT_FALSE(redis.agreement().reading);
}

TEST(Handshake, ASluiceSaysWhatItHasReserved) {
  HandshakeWith anew;
  Introduce(anew);
  anew.Answer("+FULLRESYNC " + kSomeId + " 12 3 sluice -5 77 900 30000\r\n", 1);
  const StreamReading expected{StreamKind::kOfSluice, 3, -5, 77};
  EXPECT_EQ(anew.agreement().reading, expected);
  ASSERT_TRUE(anew.agreement().reserved);
  EXPECT_EQ(anew.agreement().reserved->token_mark, 900);
  EXPECT_EQ(anew.agreement().reserved->horizon_ms, 30'000);
  HandshakeWith known(Known());
  Introduce(known);
  known.Answer("+CONTINUE " + kSomeId + " T5000:-7 900 30000\r\n");
  EXPECT_EQ(known.agreement().id, kSomeId);
  ASSERT_TRUE(known.agreement().time);
  EXPECT_EQ(known.agreement().time->engine_ms, 5000);
  EXPECT_EQ(known.agreement().time->unix_offset_ms, -7);
  ASSERT_TRUE(known.agreement().reserved);
  EXPECT_EQ(known.agreement().reserved->token_mark, 900);
  HandshakeWith timeless(Known());
  Introduce(timeless);
  timeless.Answer("+CONTINUE " + kSomeId + " 900 30000\r\n");
  EXPECT_FALSE(timeless.agreement().time);
  EXPECT_TRUE(timeless.agreement().reserved);
  for (const char* const words : {"900", "900 -1", "9007199254740993 1", "a b", "1 2 3", " ", "T",
                                  "T5", "T5:", "Ta:5", "T9223372036854775807:5"}) {
    HandshakeWith odd(Known());
    Introduce(odd);
    odd.Answer("+CONTINUE " + kSomeId + " " + words + "\r\n");
    EXPECT_EQ(odd.agreement().kind, Agreement::Kind::kContinue);
    EXPECT_FALSE(odd.agreement().reserved) << words;
    EXPECT_FALSE(odd.agreement().time) << words;
  }
}

TEST(Handshake, AnOldMasterIsAskedForSync) {
  HandshakeWith master(Known());
  Introduce(master);
  EXPECT_EQ(master.Answer("-ERR unknown command\r\n"), "SYNC / ");
  EXPECT_EQ(master.agreement().kind, Agreement::Kind::kFullSync);
  EXPECT_TRUE(master.agreement().is_silent);
}

TEST(Handshake, WhatMakesNoSenseEndsItWithASentence) {
  const std::string answers[] = {
      "+FULLRESYNC abc 1\r\n",
      "+FULLRESYNC " + std::string(41, 'a') + " 1\r\n",
      "+FULLRESYNC " + kSomeId + "\r\n",
      "+FULLRESYNC " + kSomeId + " -1\r\n",
      "+FULLRESYNC " + kSomeId + " 9223372036854775808\r\n",
      "+FULLRESYNC " + kSomeId + " 4611686018427387905\r\n",
      "+CONTINUE\r\n",  // to who has nothing
      "+CONTINUE " + kSomeId + "\r\n",
      "-LOADING later\r\n",
      "-NOMASTERLINK later\r\n",
      std::string(2000, 'x'),
      std::string(2000, 'x') + "\r\n",
  };
  for (const std::string& answer : answers) {
    HandshakeWith master;
    Introduce(master);
    EXPECT_EQ(master.Answer(answer), "") << answer;
    EXPECT_EQ(master.agreement().kind, Agreement::Kind::kLater) << answer;
    EXPECT_NE(master.agreement().why_not, "") << answer;
  }
  HandshakeWith master(Known());
  Introduce(master);
  master.Answer("+CONTINUE 12345\r\n");
  EXPECT_EQ(master.agreement().kind, Agreement::Kind::kLater);
}

TEST(Handshake, RefusalsBeforePsync) {
  HandshakeWith busy;
  busy.Answer("-DENIED protected mode\r\n");
  EXPECT_EQ(busy.agreement().why_not, "Error reply to PING from master: '-DENIED protected mode'");
  HandshakeWith strange({.password = "wrong"});
  strange.Answer("+PONG\r\n-WRONGPASS no\r\n");
  EXPECT_EQ(strange.agreement().why_not, "Unable to AUTH to MASTER: -WRONGPASS no");
  HandshakeWith endless;
  endless.Answer("+PONG\r\n" + std::string(kFourOk) + "-ERR\r\n$4611686018427387904\r\n");
  EXPECT_EQ(endless.agreement().kind, Agreement::Kind::kLater);
}

TEST(Handshake, ATakeOverMayBeRefused) {
  Introduction introduction = Known();
  introduction.takes_over = true;
  HandshakeWith master(introduction);
  master.Answer("+PONG\r\n");
  EXPECT_EQ(master.Answer(std::string(kFourOk) + "+sluice 0\r\n"),
            "PSYNC " + kSomeId + " 100 FAILOVER / ");
  master.Answer("-ERR PSYNC FAILOVER replid must match my replid.\r\n");
  EXPECT_EQ(master.agreement().kind, Agreement::Kind::kUseless);
}

}  // namespace
}  // namespace sluice
