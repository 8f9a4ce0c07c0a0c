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
  const StreamPosition last = At(INT64_MAX, StreamPosition::kUnknownDatabase);
  EXPECT_EQ(StreamLine(last), "#REPL:" + kId + " 9223372036854775807\r\n");
  EXPECT_LE(StreamLine(last).size(), kLogLineBytesMax);
  EXPECT_EQ(ReadStreamLine(StreamLine(last)), last);
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
