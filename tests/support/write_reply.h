// Puts a Reply value into a ReplySink: the way back from ReplyReader, for round trips.
#pragma once

#include <limits>
#include <string>

#include "protocol/reply_reader.h"
#include "protocol/reply_sink.h"
#include "protocol/reply_writer.h"
#include "protocol/text/number_text.h"
#include "tests/support/output_text.h"

namespace sluice {

// Elements of an aggregate without the attributes between them, which its length does not count.
inline size_t CountedElements(const Reply& reply) {
  size_t counted = 0;
  for (const Reply& element : reply.elements) {
    if (element.kind != Reply::Kind::kAttribute) ++counted;
  }
  return counted;
}

// The value of a kDouble. "nan" is what the reader takes and ParseDouble does not.
inline double DoubleOf(const Reply& reply) {
  return ParseDouble(reply.text).value_or(std::numeric_limits<double>::quiet_NaN());
}

inline void WriteReply(const Reply& reply, ReplySink& sink) {
  using Kind = Reply::Kind;
  const std::string_view text = reply.text;
  switch (reply.kind) {
    case Kind::kStatus:
      sink.Status(text);
      break;
    case Kind::kError:
      sink.Error(text);
      break;
    case Kind::kInteger:
      sink.Integer(reply.integer);
      break;
    case Kind::kBulk:
      sink.Bulk(text);
      break;
    case Kind::kNull:
    case Kind::kNullBulk:
      sink.Null();
      break;
    case Kind::kNullArray:
      sink.NullArray();
      break;
    case Kind::kArray:
      sink.Array(CountedElements(reply));
      break;
    case Kind::kMap:
      sink.Map(CountedElements(reply) / 2);
      break;
    case Kind::kSet:
      sink.Set(CountedElements(reply));
      break;
    case Kind::kPush:
      sink.Push(CountedElements(reply));
      break;
    case Kind::kDouble:
      sink.Double(DoubleOf(reply));
      break;
    case Kind::kBool:
      sink.Bool(reply.integer != 0);
      break;
    case Kind::kBigNumber:
      sink.BigNumber(text);
      break;
    case Kind::kVerbatim:
      sink.Verbatim(text.substr(4), text.substr(0, 3));
      break;
    case Kind::kAttribute:
      sink.Attribute(CountedElements(reply) / 2);
      break;
  }
  for (const Reply& element : reply.elements) WriteReply(element, sink);
}

// Its bytes in RESP3.
inline std::string Resp3Of(const Reply& reply) {
  OutputBuffer out;
  ReplyWriter writer(out);
  writer.set_version(3);
  WriteReply(reply, writer);
  return OutputText(out);
}

}  // namespace sluice
