// Any bytes as a file of the append-only log, as a turn with the right digest inside one, and as
// its manifest: read to the end, or refused with a sentence. It makes no difference how large the
// pieces are that the disk gives; what a repair leaves is whole.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "storage/log/log_check.h"
#include "storage/log/log_reader.h"
#include "storage/log/manifest.h"
#include "storage/log/turn_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_disk.h"

namespace sluice {

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "#SLUICE:1 boot 1fc9a8358d822c65\r\n"sv,
      "#SLUICE:2 boot 0\r\n"sv,
      "#M:1700000003477 - 2453ec25ae2366df 792ef8d7452fe7ae\r\n"sv,
      "#M:1 36 0000000000000000 0000000000000000\r\n"sv,
      "#TS:1700000000\r\n"sv,
      "#CLOCK:1700000000000 0\r\n"sv,
      "#CLOCK:-1 562949953421312\r\n"sv,
      "#R\r\n"sv,
      "#"sv,
      "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"sv,
      "*1\r\n$5\r\nMULTI\r\n"sv,
      "*1\r\n$4\r\nEXEC\r\n"sv,
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"sv,
      "*2\r\n$3\r\nDEL\r\n$0\r\n\r\n"sv,
      "*2\r\n$1\r\n*\r\n$7\r\n#M:1 2\n\r\n"sv,
      "*99999999999\r\n"sv,
      "*16777216\r\n"sv,
      "$4294967296\r\n"sv,
      "$-1\r\n"sv,
      "\r\n"sv,
      "\0\0\0\0\0\0\0\0"sv,
      "REDIS0010"sv,
      "file appendonly.aof.1.base.aof seq 1 type b\n"sv,
      "file appendonly.aof.1.incr.aof seq 1 type i\n"sv,
      "file \"a b\" seq 2 type h\n"sv,
      "file ../x seq 9223372036854775807 type i\n"sv,
      "file a"sv,
      " seq 1"sv,
      " type i"sv,
      "\n"sv,
  };
  return kWords;
}

namespace {

constexpr size_t kInputBytesMax = 64 * 1024;
constexpr char kPath[] = "/log/a.1.incr.aof";

struct Outcome {
  std::vector<std::string> turns;
  std::string fault;
  uint64_t whole = 0;
  bool is_torn = false;
  bool operator==(const Outcome&) const = default;
};

std::string CommandText(LogReader& reader, size_t i) {
  std::string text = Concat(reader.db(i), reader.is_relative(i) ? " R:" : ":");
  if (const auto& clock = reader.clock(i))
    text += Concat(clock->unix_offset_ms, " ", clock->shift_ms, ":");
  for (const std::string_view word : reader.Words(i)) text += Concat(" ", word);
  return text;
}

// Several turns at once are the same commands, and the same fault behind them.
void CheckRuns(DiskFile& file, uint64_t bytes, const Outcome& single) {
  LogReader reader(file, bytes);
  std::string commands, expected;
  while (reader.NextTurns(5) == LogReader::Step::kTurn) {
    for (size_t i = 0; i < reader.commands(); ++i) commands += CommandText(reader, i);
  }
  for (const std::string& turn : single.turns) expected += turn;
  FuzzCheck(commands == expected, "runs of turns are the same commands");
  FuzzCheck(reader.fault() == single.fault && reader.whole() == single.whole, "and end alike");
}

// The file at `path` of the disk, in such pieces.
Outcome ReadLog(MemoryDisk& disk, const std::string& path, size_t piece_bytes) {
  std::unique_ptr<DiskFile> file;
  uint64_t bytes = 0;
  FuzzCheck(disk.Open(path, Disk::Mode::kRead, file) == 0, "the file opens");
  file->Size(bytes);
  LogReader reader(*file, bytes, 0, piece_bytes);
  Outcome outcome;
  LogReader::Step step;
  while ((step = reader.Next()) == LogReader::Step::kTurn) {
    std::string& turn = outcome.turns.emplace_back();
    for (size_t i = 0; i < reader.commands(); ++i) {
      const Args words = reader.Words(i);
      FuzzCheck(!words.empty(), "a command has words");
      FuzzCheck(reader.offset(i) < bytes, "and an offset within the file");
      turn += CommandText(reader, i);
    }
  }
  outcome.whole = reader.whole();
  FuzzCheck(outcome.whole <= bytes, "no more is whole than there is");
  if (step == LogReader::Step::kEnd) {
    FuzzCheck(outcome.whole == bytes, "at the end all is whole");
  } else {
    outcome.fault = reader.fault();
    FuzzCheck(!outcome.fault.empty(), "a fault has a sentence");
    outcome.is_torn = reader.IsTorn();
  }
  CheckRuns(*file, bytes, outcome);
  return outcome;
}

void CheckLogFile(const std::string& bytes) {
  MemoryDisk disk;
  disk.MakeFolder("log");
  disk.files["/log/a.manifest"] = "file a.1.incr.aof seq 1 type i\n";
  disk.files[kPath] = bytes;
  const Outcome whole = ReadLog(disk, kPath, LogReader::kPieceBytes);
  FuzzCheck(ReadLog(disk, kPath, 1 + bytes.size() % 7) == whole, "pieces make no difference");
  if (bytes.starts_with("REDIS") || bytes.starts_with("VALKEY")) return;  // not this reader's
  std::string report;
  FuzzCheck(CheckLog(disk, "/log", false, {1, 2}, report) == whole.fault.empty(),
            "the check says so too");
  FuzzCheck(disk.files[kPath] == bytes, "and changes nothing");
  FuzzCheck(CheckLog(disk, "/log", true, {1, 2}, report), "what is damaged can be cut");
  const Outcome fixed = ReadLog(disk, kPath, LogReader::kPieceBytes);
  FuzzCheck(fixed.fault.empty() && fixed.turns == whole.turns, "to what was whole of it");
}

// The bytes where only a writer could have put them: so they are read as commands.
void CheckTurn(std::string_view bytes) {
  std::string log = LogHeaderLine("boot");
  const size_t begin = log.size();
  std::string turn(bytes);
  AppendLogMark(turn, 1'700'000'000'000, begin, begin);
  CheckLogFile(log + turn);
}

void CheckManifest(std::string_view text) {
  Manifest manifest, again;
  if (!ReadManifest(text, manifest).empty()) return;
  const std::string written = WriteManifest(manifest);
  FuzzCheck(ReadManifest(written, again).empty(), "what is written can be read");
  FuzzCheck(WriteManifest(again) == written, "and is the same");
  for (const Manifest::File& file : manifest.files) {
    FuzzCheck(file.name.find('/') == std::string::npos, "its files are in its folder");
    FuzzCheck(manifest.NextNumber(file.kind) > file.number, "and new ones get new numbers");
  }
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kInputBytesMax));
  CheckLogFile(std::string(bytes));
  CheckTurn(bytes);
  CheckManifest(bytes);
  return 0;
}
