// Commands as they may stand in a log, played into a server that starts: it refuses the log with a
// sentence that names file and offset, or it serves, and then all its state is sound. Whatever the
// log says, no command of it waits, ends the process, or reaches beyond the keyspace. With a line
// of
// '#' in front it is a log of ours, with marks, in which other such lines tell of clocks.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "server/dispatch/log_state.h"
#include "storage/log/turn_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "#\n"sv,
      "#CLOCK:1700000000000 0\n"sv,
      "#CLOCK:1699999000000 1000000\n"sv,
      "#CLOCK:-562949953421312 562949953421312\n"sv,
      "#R\n"sv,
      "SET k v\n"sv,
      "SET k v PXAT 1700000000100\n"sv,
      "SET k v PXAT 1600000000000\n"sv,
      "SET k v KEEPTTL\n"sv,
      "PEXPIREAT k 1700000000100\n"sv,
      "PEXPIREAT k -1\n"sv,
      "DEL k\n"sv,
      "INCRBY n 9223372036854775807\n"sv,
      "RPUSH l a b c\n"sv,
      "BLPOP l 0\n"sv,
      "LPOP l 1\n"sv,
      "SADD s 1 2 3\n"sv,
      "ZADD z 1 a inf b\n"sv,
      "HSET h f v\n"sv,
      "HSETEX h PXAT 1700000000050 FIELDS 1 f v\n"sv,
      "HPEXPIREAT h 1 FIELDS 1 f\n"sv,
      "XADD x 1-1 f v\n"sv,
      "XGROUP CREATE x g 0\n"sv,
      "XCLAIM x g c 0 1-1 TIME 1700000000000 RETRYCOUNT 1 FORCE JUSTID LASTID 1-1\n"sv,
      "RENAME k l\n"sv,
      "COPY k m REPLACE\n"sv,
      "MOVE k 1\n"sv,
      "SWAPDB 0 1\n"sv,
      "FLUSHALL\n"sv,
      "SELECT 3\n"sv,
      "MULTI\n"sv,
      "EXEC\n"sv,
      "EVAL return 0\n"sv,
      "SUBSCRIBE c\n"sv,
      "SHUTDOWN\n"sv,
      "CONFIG SET appendonly no\n"sv,
      "FUNCTION FLUSH\n"sv,
      "SETRANGE k 536870911 x\n"sv,
      "LOCK.RESTORE lock 1700000000001 me exclusive 1 1 1 1700000000200 -1 0 \n"sv,
      "LOCK.RESTORE lock 9007199254740990 you shared 3 1 2 1700000000200 -1 0 label\n"sv,
      "LOCK.RESTORE lock 1700000000001\n"sv,
      "LOCK.BREAK lock\n"sv,
      "LOCK.ACQUIRE lock me LEASE 1000 WAIT 1000\n"sv,
      "LIMIT.TAKE t FIXED 3 1000 AT 1700000000000000\n"sv,
      "LIMIT.TAKE t LOG 3 1000 AT 1700000000000000\n"sv,
      "LIMIT.POLICY SET p TOKEN 3 1000 BURST 2\n"sv,
      "LBUCKET.COUNTAT b 10 1700000000000\n"sv,
      "LBUCKET.COUNTAT b 1700000020000\n"sv,
      "LBUCKET.COUNTAT b 1700000010000 3\n"sv,
      "\n"sv,
  };
  return kWords;
}

namespace {

constexpr size_t kInputBytesMax = 4096;
constexpr size_t kMemoryMax = 64 * 1024 * 1024;

std::string Marked(std::string turn) {
  const std::string header = LogHeaderLine("boot");
  AppendLogMark(turn, 1'700'000'000'000, kSyncUnknown, header.size());
  return header + turn;
}

// A line is a command, its words between spaces.
std::string LogOf(std::string_view lines) {
  const bool is_marked = lines.starts_with('#');
  std::string log;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    if (line.starts_with('#')) {
      log += Concat(line, "\r\n");
      continue;
    }
    std::vector<std::string_view> words;
    while (!line.empty()) {
      words.push_back(line.substr(0, line.find(' ')));
      line.remove_prefix(std::min(line.size(), words.back().size() + 1));
    }
    if (!words.empty()) AppendRequest(log, words);
  }
  return is_marked ? Marked(std::move(log)) : log;
}

void Load(std::string_view input) {
  MemoryDisk disk;
  disk.MakeFolder("appendonlydir");
  disk.files["/appendonlydir/appendonly.aof.manifest"] =
      "file appendonly.aof.1.base.aof seq 1 type b\n";
  disk.files["/appendonlydir/appendonly.aof.1.base.aof"] = LogOf(input);
  TestEngine::Options options;
  options.disk = &disk;
  options.audits = false;
  options.config = {{"appendonly", "yes"}, {"proto-max-bulk-len", std::to_string(kMemoryMax)}};
  TestEngine server(options);
  FuzzCheck(server.start_fault().empty(), "the folder opens");
  server.Settle();
  if (server.shutdown_code()) {
    const std::string& last = server.log().back();
    FuzzCheck(last.find("appendonly.aof.1.base.aof, offset ") != std::string::npos,
              "a refusal names file and offset");
    return;
  }
  FuzzCheck(!server.engine().part<LogState>().loading, "it serves");
  FuzzCheck(server.Audit().empty(), "and is sound");
  FuzzCheck(server.Connect().Run({"PING"}).ToText() == "+PONG", "and answers");
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  Load({reinterpret_cast<const char*>(data), std::min(size, kInputBytesMax)});
  return 0;
}
