// Answers of other servers: what is taken, what is a fault, and that a cut answer is none yet.
#include "server/peers/answer_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using State = AnswerReading::State;

constexpr size_t kMost = 100;

TEST(AnswerReader, ReadsLinesBulksAndAFewOfThem) {
  struct Case {
    std::string bytes;
    std::vector<std::string> values;
    bool is_error = false;
  };
  const Case cases[] = {
      {"+OK\r\n", {"OK"}},
      {"-ERR no\r\n", {"ERR no"}, true},
      {":17\r\n", {"17"}},
      {"$3\r\na\r\n\r\n", {"a\r\n"}},
      {"$-1\r\n", {}},
      {"*-1\r\n", {}},
      {"*2\r\n$1\r\na\r\n:5\r\n", {"a", "5"}},
  };
  for (const auto& [bytes, values, is_error] : cases) {
    SCOPED_TRACE(bytes);
    const AnswerReading reading = ReadAnswer(Concat(bytes, "+more"), kMost);
    ASSERT_EQ(reading.state, State::kWhole);
    EXPECT_EQ(reading.bytes, bytes.size());
    EXPECT_EQ(reading.answer.values, values);
    EXPECT_EQ(reading.answer.is_error, is_error);
    for (size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_EQ(ReadAnswer(bytes.substr(0, cut), kMost).state, State::kIncomplete) << cut;
  }
}

TEST(AnswerReader, WhatIsMoreIsAFault) {
  const std::string cases[] = {
      "HTTP/1.1 400\r\n",
      "$101\r\n",
      "$x\r\n",
      "$-2\r\n",
      "*9\r\n",
      "*1\r\n*1\r\n",
      "*x\r\n",
      "$1\r\nabc",
      "%1\r\n",
      std::string(5000, '+'),
      Concat("$", std::string(5000, '1')),
      "$99999999999999999999\r\n",
  };
  for (const std::string& bytes : cases)
    EXPECT_EQ(ReadAnswer(bytes, kMost).state, State::kFault) << bytes.substr(0, 40);
}

}  // namespace
}  // namespace sluice
