// Any bytes as what a master answers and sends: the handshake ends, goes on or fails with a
// sentence, and so does the image behind it. What is kept and said is bounded, lines of the log are
// printed letters, and it makes no difference in which pieces the bytes come: but for an image
// between marks, whose end is where a piece ends with the mark.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/following/handshake.h"
#include "server/following/image_reader.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "+PONG\r\n"sv,
      "-NOAUTH Authentication required.\r\n"sv,
      "-NOPERM this user has no permissions\r\n"sv,
      "-ERR operation not permitted\r\n"sv,
      "-ERR unknown command 'PSYNC'\r\n"sv,
      "-ERR Unrecognized REPLCONF option: sluice-stream\r\n"sv,
      "-LOADING Redis is loading the dataset in memory\r\n"sv,
      "-NOMASTERLINK Can't SYNC while not connected with my master\r\n"sv,
      "+OK\r\n"sv,
      "+FULLRESYNC 0123456789012345678901234567890123456789 17\r\n"sv,
      "+FULLRESYNC short 17\r\n"sv,
      "+FULLRESYNC 0123456789012345678901234567890123456789 -9223372036854775808\r\n"sv,
      "+CONTINUE\r\n"sv,
      "+CONTINUE abcdefabcdefabcdefabcdefabcdefabcdefabcd\r\n"sv,
      "+CONTINUE abcdefabcdefabcdefabcdefabcdefabcdefabcd T5000:1700000000000 900 30000\r\n"sv,
      "+CONTINUE abcdefabcdefabcdefabcdefabcdefabcdefabcd T562949953421312:-562949953421312\r\n"sv,
      "\n"sv,
      "\r\n"sv,
      "$20\r\n# Replication\r\nrole:\r\n"sv,
      "$4611686018427387904\r\n"sv,
      "$-1\r\n"sv,
      "$5\r\nREDIS"sv,
      "$EOF:0123456789012345678901234567890123456789\r\n"sv,
      "0123456789012345678901234567890123456789"sv,
      "$EOF:short\r\n"sv,
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"sv,
      "REDIS0010"sv,
      "sluice"sv,
      "role:master\r\n"sv,
      "role:slave\r\n"sv,
      " 0"sv,
      "\0"sv,
  };
  return kWords;
}

namespace {

struct Heard {
  Agreement::Kind kind = Agreement::Kind::kNone;
  std::string id;
  int64_t offset = 0;
  std::string why_not;
  std::string said;
  std::vector<std::string> lines;
  ImageReader::State state = ImageReader::State::kHead;
  uint64_t total = 0;
  bool has_mark = false;
  std::string image;
  std::string image_fault;
  std::string left;  // neither answers nor image
  bool operator==(const Heard&) const = default;
};

Introduction Introduced(std::string_view bytes) {
  Introduction introduction{.port = 7000};
  if (bytes.size() % 3 == 1) introduction.password = "word";
  if (bytes.size() % 5 == 1)
    introduction.place = Introduction::Place{.id = std::string(40, 'a'), .offset = 17};
  return introduction;
}

// As a link has them: what is not taken is shown again, with more behind it.
Heard Hear(std::string_view bytes, size_t piece) {
  const size_t bytes_in_all = bytes.size();
  Heard heard;
  Handshake handshake(Introduced(bytes), [&heard](LogLevel, std::string_view line) {
    heard.lines.emplace_back(line);
  });
  ImageReader reader;
  handshake.Begin(heard.said);
  std::string pending;
  const auto take = [&pending](size_t taken) {
    FuzzCheck(taken <= pending.size(), "no more is taken than there is");
    pending.erase(0, taken);
  };
  while (!bytes.empty()) {
    pending += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if (handshake.agreement().kind == Agreement::Kind::kNone)
      take(handshake.Take(pending, heard.said));
    const bool has_image = handshake.agreement().kind == Agreement::Kind::kFullSync;
    if (has_image && reader.state() < ImageReader::State::kEnd)
      take(reader.Take(pending, heard.image));
  }
  const Agreement& agreement = handshake.agreement();
  heard.kind = agreement.kind;
  heard.id = agreement.id;
  heard.offset = agreement.offset;
  heard.why_not = agreement.why_not;
  heard.state = reader.state();
  heard.image_fault = reader.fault();
  heard.total = reader.total();
  heard.has_mark = reader.has_mark();
  heard.left = pending;
  FuzzCheck(heard.image.size() <= bytes_in_all, "the image is of what came");
  FuzzCheck(heard.total == 0 || heard.image.size() <= heard.total, "and no longer than was said");
  return heard;
}

void ForgetMarkedImage(Heard& heard) {
  if (heard.state == ImageReader::State::kFault) return;  // the mark itself is wrong
  heard.state = ImageReader::State::kBytes;
  heard.image.clear();
  heard.left.clear();
}

bool IsPrinted(std::string_view line) {
  return std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
}

void Check(std::string_view bytes) {
  Heard whole = Hear(bytes, bytes.size());
  Heard in_pieces = Hear(bytes, 1 + bytes.size() % 7);
  FuzzCheck(whole.has_mark == in_pieces.has_mark, "the head of an image is a line");
  if (whole.has_mark) ForgetMarkedImage(whole), ForgetMarkedImage(in_pieces);
  FuzzCheck(whole == in_pieces, "pieces make no difference");
  const bool fails =
      whole.kind == Agreement::Kind::kLater || whole.kind == Agreement::Kind::kUseless;
  FuzzCheck(!fails || !whole.why_not.empty(), "a fault is a sentence");
  const bool is_broken = whole.state == ImageReader::State::kFault;
  FuzzCheck(is_broken != whole.image_fault.empty(), "of the image, too");
  FuzzCheck(whole.said.size() < 4096, "little is said");
  for (const std::string& line : whole.lines)
    FuzzCheck(line.size() < 2 * Handshake::kLineBytesMax && IsPrinted(line), "a line is harmless");
  FuzzCheck(IsPrinted(whole.why_not) && IsPrinted(whole.image_fault), "so are faults");
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
