// Any bytes are a reply, the beginning of one, or an error; what was read can be written and read
// again; every prefix of a reply is incomplete.
#include <string>

#include "protocol/reply_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/write_reply.h"

namespace sluice {
namespace {

// As our RESP3 carries it: one kind of null, doubles in %.17g.
void Normalize(Reply& reply) {
  using Kind = Reply::Kind;
  if (reply.kind == Kind::kNullBulk || reply.kind == Kind::kNullArray) reply.kind = Kind::kNull;
  if (reply.kind == Kind::kDouble) reply.text = DoubleText(DoubleOf(reply));
  for (Reply& element : reply.elements) Normalize(element);
}

void CheckRoundTrip(Reply reply) {
  const std::string bytes = Resp3Of(reply);
  ReplyReader reader;
  const std::optional<Reply> again = reader.Read(bytes);
  FuzzCheck(again.has_value(), "what was written can be read");
  FuzzCheck(reader.consumed() == bytes.size(), "and nothing is left of it");
  Normalize(reply);
  FuzzCheck(*again == reply, "and it is the same");
}

}  // namespace

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "+OK\r\n"sv,
      "-ERR x\r\n"sv,
      ":1\r\n"sv,
      "$0\r\n\r\n"sv,
      "$1\r\na\r\n"sv,
      "$-1\r\n"sv,
      "*-1\r\n"sv,
      "_\r\n"sv,
      "*1\r\n"sv,
      "*2\r\n"sv,
      "*0\r\n"sv,
      "%1\r\n"sv,
      "%2\r\n"sv,
      "~1\r\n"sv,
      ">2\r\n"sv,
      ",1.5\r\n"sv,
      ",-inf\r\n"sv,
      ",nan\r\n"sv,
      "#t\r\n"sv,
      "#f\r\n"sv,
      "(12\r\n"sv,
      "|1\r\n"sv,
      "=5\r\ntxt:a\r\n"sv,
      "\r\n"sv,
      "\r"sv,
      "\n"sv,
      "\0"sv,
      "-"sv,
      "9999999999"sv,
      "*1\r\n*1\r\n*1\r\n*1\r\n"sv,
  };
  return kWords;
}

}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReplyReader reader;
  while (const std::optional<Reply> reply = reader.Read(bytes)) {
    const size_t consumed = reader.consumed();
    FuzzCheck(consumed > 0 && consumed <= bytes.size(), "consumed within the bytes");
    FuzzCheck(reply->ToText().find_first_of("\r\n") == std::string::npos, "one line of text");
    for (size_t cut = 0; cut < consumed; cut += consumed / 16 + 1) {
      FuzzCheck(!reader.Read(bytes.substr(0, cut)) && !reader.failed(), "a prefix is incomplete");
    }
    CheckRoundTrip(*reply);
    bytes.remove_prefix(consumed);
  }
  return 0;
}
