// Any bytes as an RDB file: refused with a sentence that names an offset within it, or read. It
// makes no difference in which pieces they come. What was read is sound: written and read again, it
// is the same.
#include <string>

#include "storage/rdb/rdb_file_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/work_count.h"
#include "tests/support/rdb_world.h"

namespace sluice {

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "REDIS0010"sv,
      "REDIS0003"sv,
      "VALKEY080"sv,
      "\xfe\0"sv,
      "\xfb\2\1"sv,
      "\xfa\3abc\3xyz"sv,
      "\xf5\4code"sv,
      "\xfc\x00\x3c\xbd\xc6\x9b\x01\0\0"sv,
      "\xfd\0\0\0\0"sv,
      "\xf8\5"sv,
      "\xf9\5"sv,
      "\xf4\1\2\3"sv,
      "\xf7\x81\1\2\3\4\5\6\7\x08\2\1"sv,
      "\0\1k\1v"sv,
      "\1\1l\2\1a\1b"sv,
      "\2\1s\2\1a\1b"sv,
      "\3\1z\1\1a\3"
      "1.5"sv,
      "\4\1h\1\1a\1b"sv,
      "\7\1m"sv,
      "\x0b\1i\x0c\2\0\0\0\2\0\0\0\1\0\2\0"sv,
      "\x10\1h\x0d\x0d\0\0\0\2\0\x81"
      "a\2\x01\1\xff"sv,
      "\x12\1q\1\2"sv,
      "\x81\0\0\x10\0\0\0\0\0"sv,
      "\x80\x7f\xff\xff\xff"sv,
      "\xc0\5"sv,
      "\xc2\xff\xff\xff\x7f"sv,
      "\xc3\x04\x50\x08\0\xe0\x48"sv,
      "\xff"sv,
      "\0\0\0\0\0\0\0\0"sv,
      "\xff\0\0\0\0\0\0\0\0"sv,
  };
  return kWords;
}

namespace {

void CheckFile(std::string_view bytes) {
  const RdbFileOptions options{.skip_unknown = true, .string_bytes_max = 1 << 20};
  RdbWorld world, in_pieces;
  const Work before = WorkDone();
  const std::string fault = world.Load(bytes, options);
  const Work work = WorkDone() - before;
  FuzzCheck(work.units <= WorkAllowed(work, bytes.size()), "work as there are bytes");
  FuzzCheck(fault.empty() || fault.starts_with("offset "), "a sentence");
  FuzzCheck(world.offset <= bytes.size(), "an offset within the file");
  StringSource source(bytes);
  source.piece_bytes = 1 + bytes.size() % 7;
  source.is_endless = true;
  const std::string other_fault = in_pieces.Load(source, options);
  FuzzCheck(fault.empty() == other_fault.empty(), "pieces make no difference");
  const auto content = world.Content();
  FuzzCheck(content == in_pieces.Content(), "to what is read either");
  RdbWorld again;
  FuzzCheck(again.Load(world.Save()).empty(), "what was read can be written and read");
  FuzzCheck(again.Content() == content, "and is the same");
  for (RdbWorld* each : {&world, &again}) {
    FuzzCheck(each->keyspace().Audit(each->now()).empty(), "and sound");
  }
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
