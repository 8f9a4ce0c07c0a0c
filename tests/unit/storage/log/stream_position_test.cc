// Positions of the stream to replicas as files say them: what is written is read, and what is no
// position counts as none.
#include "storage/log/stream_position.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "storage/log/turn_writer.h"

namespace sluice {
namespace {

const std::string kId(ReplicationId::kBytes, 'c');

StreamPosition At(int64_t offset, int db) {
  return {.id = *ReplicationId::Of(kId), .offset = offset, .db = db};
}

TEST(ReplicationId, IsOfFortyHexDigits) {
  EXPECT_EQ(ReplicationId::Of(kId)->text(), kId);
  for (const std::string& text : {std::string(), kId + "c", kId.substr(1), kId.substr(1) + "x"})
    EXPECT_FALSE(ReplicationId::Of(text)) << text;
}

TEST(StreamPosition, ItsLineFitsIntoAnAnnotationOfRedis) {
  const StreamPosition last = At(kStreamOffsetMax, StreamPosition::kUnknownDatabase);
  EXPECT_EQ(StreamLine(last), "#REPL:" + kId + " 4611686018427387904\r\n");
  EXPECT_LE(StreamLine(last).size(), kLogLineBytesMax);
  EXPECT_EQ(ReadStreamLine(StreamLine(last)), last);
}

TEST(StreamPosition, OfAStreamThatIsFollowedSaysHowItGoesOn) {
  StreamPosition followed = At(12, StreamPosition::kUnknownDatabase);
  for (const StreamKind kind :
       {StreamKind::kOfRedis, StreamKind::kOfSluice, StreamKind::kOfSluiceThroughRedis}) {
    followed.reading = {
        .kind = kind, .db = 255, .unix_offset_ms = -kLogMomentMsMax, .told_ms = kLogMomentMsMax};
    EXPECT_LE(StreamLine(followed).size(), kLogLineBytesMax);
    EXPECT_EQ(ReadStreamLine(StreamLine(followed)), followed);
    followed.reading->unix_offset_ms.reset();
    EXPECT_EQ(ReadStreamLine(StreamLine(followed)), followed);
    EXPECT_EQ(ReadOrigin(OriginText({kind, 17})), (StreamOrigin{kind, 17}));
  }
}

TEST(StreamReading, IsWrittenInOneWay) {
  EXPECT_EQ(ReadingText({StreamKind::kOfSluice, 3, 1'700, 5}), "3 sluice 1700 5");
  for (const char* const text :
       {"", "3", "3 sluice 1700", "3 sluice 1700 5 6", "3  sluice 1700 5", "-1 sluice 1700 5",
        "3 Sluice 1700 5", "3 sluice x 5", "3 sluice -- 5", "3 sluice - -5", "3 sluice 1700 5 ",
        "3 sluice 1700 562949953421313", "3 sluice 562949953421313 5",
        "3 sluice -562949953421313 5"}) {
    EXPECT_FALSE(ReadReading(text)) << text;
    EXPECT_FALSE(ReadStreamLine("#REPL:" + kId + " 12 " + text + "\r\n")) << text;
  }
  EXPECT_FALSE(ReadStreamLine("#REPL:" + kId + " 4611686018427387905\r\n"));
  for (const char* const text : {"", "sluice", "sluice 4611686018427387905", "sluice -1",
                                 "sluice x", "other 1", "sluice 1 2"})
    EXPECT_FALSE(ReadOrigin(text)) << text;
}

TEST(StreamFields, AreAPositionOnceIdAndOffsetAreKnown) {
  StreamFields fields;
  EXPECT_FALSE(fields.position());
  fields.Take("redis-ver", "7.0.15");
  fields.Take("repl-offset", "12");
  EXPECT_FALSE(fields.position());
  fields.Take("repl-id", kId);
  EXPECT_EQ(fields.position(), At(12, StreamPosition::kUnknownDatabase));
  fields.Take("repl-stream-db", "3");
  EXPECT_EQ(fields.position(), At(12, 3));
  fields.Take("repl-stream-db", "-1");
  EXPECT_EQ(fields.position(), At(12, StreamPosition::kUnknownDatabase));
}

TEST(StreamFields, ThatAreMalformedCountAsMissing) {
  for (const std::string& offset : {std::string(), std::string("-1"), std::string("1x"),
                                    std::string("9223372036854775808"), std::string(1000, '1')}) {
    StreamFields fields;
    fields.Take("repl-id", kId);
    fields.Take("repl-offset", offset);
    EXPECT_FALSE(fields.position()) << offset;
  }
  StreamFields fields;
  fields.Take("repl-id", std::string(10'000'000, 'c'));
  fields.Take("repl-offset", "1");
  EXPECT_FALSE(fields.position());
}

}  // namespace
}  // namespace sluice
