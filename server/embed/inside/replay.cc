// See replay.h.
#include "server/embed/inside/replay.h"

#include <algorithm>
#include <string_view>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr size_t kFormatBytes = 4;  // "txt:" of a verbatim string

void ReplayScalar(const Reply& reply, ReplySink& sink) {
  using Kind = Reply::Kind;
  switch (reply.kind) {
    case Kind::kError:
      return sink.Error(reply.text);
    case Kind::kStatus:
      return sink.Status(reply.text);
    case Kind::kInteger:
      return sink.Integer(reply.integer);
    case Kind::kBool:
      return sink.Bool(reply.integer != 0);
    case Kind::kDouble:
      return sink.Double(ParseDouble(reply.text).value_or(0));
    case Kind::kVerbatim:
      return sink.Bulk(
          std::string_view(reply.text).substr(std::min(kFormatBytes, reply.text.size())));
    case Kind::kNull:
    case Kind::kNullBulk:
    case Kind::kNullArray:
      return sink.Null();
    default:
      return sink.Bulk(reply.text);
  }
}

}  // namespace

void Replay(const Reply& reply, ReplySink& sink) {
  using Kind = Reply::Kind;
  const size_t length = reply.elements.size();
  switch (reply.kind) {
    case Kind::kArray:
      sink.Array(length);
      break;
    case Kind::kMap:
    case Kind::kAttribute:
      sink.Map(length / 2);
      break;
    case Kind::kSet:
      sink.Set(length);
      break;
    case Kind::kPush:
      sink.Push(length);
      break;
    default:
      return ReplayScalar(reply, sink);
  }
  for (const Reply& element : reply.elements) Replay(element, sink);
}

}  // namespace sluice
