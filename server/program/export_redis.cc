// See export_redis.h. A server's snapshot is kept beside the file that is made, until it is read.
#include "server/program/export_redis.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "protocol/text/concat.h"
#include "scripting/functions.h"
#include "server/commands/families.h"
#include "server/dispatch/log_state.h"
#include "server/engine/engine.h"
#include "server/engine/script_engine.h"
#include "server/limits/limit_service.h"
#include "server/locks/lock_service.h"
#include "server/program/data_files.h"
#include "server/program/file_host.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "server/snapshots/left_out.h"
#include "server/snapshots/redis_export.h"
#include "server/snapshots/snapshot_file.h"
#include "server/system/system_clock.h"

namespace sluice {
namespace {

constexpr int kRedisDatabases = 16;  // unless it is told otherwise

// The engine only reads: it keeps no mark of tokens and saves nothing by itself, whatever the
// options say.
Fault ForReadingAlone(Config& config) {
  for (const std::string_view option : {"fence-mark-file", "save"}) {
    if (Fault fault = config.SetAtStart(option, {""})) return fault;
  }
  return config.SetAtStart("maxmemory", {"0"});
}

// The copy of a server's snapshot, which goes with this.
class Fetched {
 public:
  Fetched(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  ~Fetched() { disk_.Remove(path_); }
  Fetched(const Fetched&) = delete;
  Fault Fetch(BackupOrder order) {
    order.file = path_;
    std::string done;
    return FetchBackup(order, disk_, done);
  }
  const std::string& path() const { return path_; }

 private:
  Disk& disk_;
  const std::string path_;
};

SnapshotWriter::Source SourceOf(Engine& engine) {
  auto& locks = engine.part<LockService>();
  return {.keyspace = engine.keyspace(),
          .functions = engine.part<ScriptEngine>().functions(),
          .policies = engine.part<LimitService>().policies(),
          .fences = locks.memory()};
}

// A link counts, wherever it leads.
bool IsThere(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_type type = std::filesystem::symlink_status(path, unknown).type();
  return type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none;
}

Fault ThereAlready(const std::string& path) {
  return Concat(path, ": is there already: name another file, or move it away");
}

// On standard output, a line each.
std::string Report(const std::string& path, const RedisExport& made, const LogState& loaded) {
  const RedisExport::Written& written = made.written();
  std::string text =
      Concat(path, ": ", made.bytes(), " bytes for redis-server 7.0\nwritten: ", written.keys,
             written.keys == 1 ? " key, " : " keys, ", written.with_deadline, " with a deadline\n");
  if (written.functions > 0)
    ConcatTo(text, "written: ", written.functions,
             written.functions == 1 ? " library of functions\n" : " libraries of functions\n");
  LeftOut left = made.left_out();
  left.ended_keys += loaded.ended.keys;
  left.ended_fields += loaded.ended.fields;
  for (const std::string& what : LeftOutTexts(left)) ConcatTo(text, "left out: ", what, '\n');
  if (left.field_ends > 0)
    ConcatTo(text, "left out: ", left.field_ends, left.field_ends == 1 ? " deadline" : " deadlines",
             " of fields, in ", left.timed_hashes, left.timed_hashes == 1 ? " hash" : " hashes",
             ": the fields are there, and stay\n");
  if (written.last_database >= kRedisDatabases)
    ConcatTo(text, "start redis-server with --databases ", written.last_database + 1, '\n');
  return text;
}

// Writes what the engine has loaded. `text` tells of it.
Fault Write(Engine& engine, Disk& disk, const std::string& path, std::string& text) {
  SnapshotFile file(disk, nullptr, {Concat(path, ".temp-", int64_t{::getpid()}), path}, true);
  if (const int fault = file.Open())
    return Concat(path, ": cannot be made: ", std::strerror(fault));
  RedisExport made(SourceOf(engine), engine.part<TurnClock>(), file);
  int fault = made.WriteAll() ? 0 : file.fault();
  if (fault == 0 && IsThere(path)) return ThereAlready(path);
  file.Finish([&fault](int outcome) { fault = outcome; });
  if (fault != 0) return Concat(path, ": cannot be written: ", std::strerror(fault));
  text = Report(path, made, engine.part<LogState>());
  return {};
}

Fault Find(const ExportOrder& order, Disk& disk, Fetched& fetched, DataFiles& files) {
  if (!order.from.empty()) return FindDataFiles(order.from, disk, files);
  files = {.paths = {fetched.path()}, .is_snapshot = true, .log = nullptr};
  return fetched.Fetch(order.backup);
}

}  // namespace

int ExportRedis(const ExportOrder& order, Disk& disk, Config& config, const EngineOptions& options,
                std::FILE* out, std::FILE* errors) {
  const auto fail = [errors](std::string_view fault) {
    PrintLine(errors, fault);
    return 1;
  };
  const std::string path = disk.Absolute(order.file);
  if (IsThere(path)) return fail(ThereAlready(path));
  if (const Fault fault = ForReadingAlone(config)) return fail(fault);
  Fetched fetched(disk, Concat(path, ".snapshot-", int64_t{::getpid()}));
  DataFiles files;
  if (const Fault fault = Find(order, disk, fetched, files)) return fail(fault);
  SystemClock clock;
  FileHost host(out, errors);
  Engine engine(config, clock, host, AllCommands(), options);
  engine.Import(files.paths, files.is_snapshot, /*keeps_ended=*/false);
  while (engine.loading() && !host.Stopping()) engine.RunTurn();
  if (host.Stopping()) return 1;
  std::string text;
  if (const Fault fault = Write(engine, disk, path, text)) return fail(fault);
  std::fputs(HarmlessLines(text, TextOfTerminal()).c_str(), out);
  return 0;
}

}  // namespace sluice
