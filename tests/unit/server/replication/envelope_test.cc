// Envelopes: what is written is read, and any other bytes are a plain PING, skipped, or a fault.
#include "server/replication/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "storage/locks/fence.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The argument of the one PING that `bytes` are.
std::string ArgumentOf(const std::string& bytes) {
  ReplyReader reader;
  const std::optional<Reply> ping = reader.Read(bytes);
  EXPECT_TRUE(ping && reader.consumed() == bytes.size());
  if (!ping || ping->elements.size() != 2) return "";
  EXPECT_EQ(ping->elements[0].text, "PING");
  return ping->elements[1].text;
}

template <typename Kind>
Kind ReadAs(const std::string& argument) {
  Fault fault;
  const std::optional<Envelope> envelope = ReadEnvelope(argument, fault);
  EXPECT_TRUE(envelope) << fault.sentence() << ": " << argument;
  if (!envelope || !std::holds_alternative<Kind>(*envelope)) {
    ADD_FAILURE() << "another kind: " << argument;
    return {};
  }
  return std::get<Kind>(*envelope);
}

// The sentence; empty when there is none.
std::string FaultOf(const std::string& argument) {
  Fault fault;
  const bool is_read = ReadEnvelope(argument, fault).has_value();
  EXPECT_EQ(is_read, fault.empty());
  return fault;
}

TEST(EnvelopeTest, WhatIsWrittenIsRead) {
  std::string bytes;
  AppendClockEnvelope(bytes, {-5, 7});
  EXPECT_EQ(ArgumentOf(bytes), "SLUICE1 C -5 7");
  EXPECT_EQ(ReadAs<ClockEnvelope>(ArgumentOf(bytes)).clock, (LogClock{-5, 7}));

  bytes.clear();
  AppendAbsoluteEnvelope(bytes);
  EXPECT_EQ(bytes, "*2\r\n$4\r\nPING\r\n$9\r\nSLUICE1 A\r\n");
  ReadAs<AbsoluteEnvelope>(ArgumentOf(bytes));

  bytes.clear();
  AppendTimeEnvelope(bytes, 1234);
  EXPECT_EQ(ReadAs<TimeEnvelope>(ArgumentOf(bytes)).engine_ms, 1234);

  bytes.clear();
  AppendReservedEnvelope(bytes, {kTokenRestoredMax, 30'000});
  auto reserved = ReadAs<ReservedEnvelope>(ArgumentOf(bytes));
  EXPECT_EQ(reserved.token_mark, kTokenRestoredMax);
  EXPECT_EQ(reserved.horizon_ms, 30'000);
  EXPECT_EQ(reserved.complete_at, std::nullopt);

  bytes.clear();
  const auto run = ReplicationId::Of("0123456789012345678901234567890123456789");
  AppendReservedEnvelope(bytes, {17, 0, run});
  EXPECT_EQ(ArgumentOf(bytes), "SLUICE1 M 17 0 0123456789012345678901234567890123456789");
  reserved = ReadAs<ReservedEnvelope>(ArgumentOf(bytes));
  EXPECT_EQ(reserved.token_mark, 17);
  EXPECT_EQ(reserved.complete_at, run);
  EXPECT_FALSE(FaultOf("SLUICE1 M 17 0 0123").empty());
  EXPECT_FALSE(FaultOf("SLUICE1 M 4503599627370497 0").empty()) << "half of all numbers are left";
}

TEST(EnvelopeTest, AnEffectMayHoldAnyBytes) {
  const std::string_view words[] = {"HPERSIST", std::string_view("a\0\r\n$3\r\n b", 10), ""};
  std::string bytes;
  AppendEffectEnvelope(bytes, words);
  const std::string argument = ArgumentOf(bytes);
  const ArgumentList read = ReadAs<EffectEnvelope>(argument).words;
  EXPECT_THAT(std::vector<std::string_view>(read.begin(), read.end()),
              ElementsAre(words[0], words[1], words[2]));
}

TEST(EnvelopeTest, AnEffectIsRefusedUnlessItIsWhole) {
  const std::string_view words[] = {"LOCK.BREAK", "door"};
  std::string bytes;
  AppendEffectEnvelope(bytes, words);
  const std::string argument = ArgumentOf(bytes);
  const size_t begin = std::string_view("SLUICE1 E ").size();
  for (size_t size = begin; size < argument.size(); ++size) {
    EXPECT_NE(FaultOf(argument.substr(0, size)), "") << size;
  }
  EXPECT_EQ(FaultOf(argument), "");
  EXPECT_EQ(FaultOf(argument + "x"), "something follows an effect");
}

TEST(EnvelopeTest, OtherPingsAreNoEnvelopes) {
  for (const char* const argument : {"", "hello", "sluice1 A", "SLUIC", " SLUICE1 A"}) {
    ReadAs<NoEnvelope>(argument);
  }
}

TEST(EnvelopeTest, UnknownLettersAreSkippedAndUnknownVersionsAreAFault) {
  EXPECT_EQ(ReadAs<UnknownEnvelope>("SLUICE1 Z anything \r\n").letter, 'Z');
  EXPECT_EQ(ReadAs<UnknownEnvelope>("SLUICE1 e").letter, 'e');
  for (const char* const argument : {"SLUICE2 A", "SLUICE", "SLUICE1", "SLUICE10 A"}) {
    EXPECT_THAT(FaultOf(argument), HasSubstr("version")) << argument;
  }
}

TEST(EnvelopeTest, BytesOfNoMeaningAreFaults) {
  for (const char* const argument : {
           "SLUICE1 ",                      // no letter
           "SLUICE1 AB",                    //
           "SLUICE1 A ",                    //
           "SLUICE1 A 1",                   // something behind a mark
           "SLUICE1 C 1",                   // one number
           "SLUICE1 C 1 2 3",               // three
           "SLUICE1 C 01 2",                // another text for a number
           "SLUICE1 C 562949953421313 0",   // a moment beyond 2^49
           "SLUICE1 C 0 -562949953421313",  //
           "SLUICE1 H ",                    //
           "SLUICE1 H 99999999999999999999999999999999999999999999999",
           "SLUICE1 M 9007199254740992 1",  // a token of 2^53
           "SLUICE1 M -1 1",                //
           "SLUICE1 M 1 -1",                //
           "SLUICE1 E",                     //
           "SLUICE1 E ",                    //
           "SLUICE1 E PING",                // a line
           "SLUICE1 E *0\r\n",              //
           "SLUICE1 E *-1\r\n",             //
           "SLUICE1 E *1\r\n$-1\r\n",       //
           "SLUICE1 E *1048577\r\n",        // more words than a request may have
           "SLUICE1 E *1\r\n$4611686018427387904\r\n",
           "SLUICE1 E *1\r\n$4\r\nping\r\n",  // one in another
       }) {
    EXPECT_NE(FaultOf(argument), "") << argument;
  }
}

// Its size is looked at, not its bytes: those of this one are never touched.
TEST(EnvelopeTest, OneThatIsLargerThanAnyEffectIsRefused) {
  const auto room = std::make_unique_for_overwrite<char[]>(kEnvelopeBytesMax + 1);
  constexpr std::string_view kBegin = "SLUICE1 E *1\r\n";
  kBegin.copy(room.get(), kBegin.size());
  Fault fault;
  EXPECT_FALSE(ReadEnvelope({room.get(), kEnvelopeBytesMax + 1}, fault));
  EXPECT_EQ(fault, "an envelope is larger than any effect");
}

}  // namespace
}  // namespace sluice
