// See import.h.
#include "server/program/import.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/dispatch/log_state.h"
#include "server/engine/engine.h"
#include "server/net/redis_link.h"
#include "server/program/data_files.h"
#include "server/program/file_host.h"
#include "server/program/full_sync.h"
#include "server/system/system_clock.h"

namespace sluice {
namespace {

// An import does not replace data that are there.
std::string EnterFolder(const std::string& into, Disk& disk, Config& config) {
  std::error_code fault;
  std::filesystem::create_directories(into, fault);
  if (fault || chdir(into.c_str()) != 0)
    return Concat(into, ": cannot be made, or entered: ",
                  fault ? fault.message() : std::string(std::strerror(errno)));
  const std::string folder = std::filesystem::current_path(fault).string();
  if (Fault refusal = config.SetAtStart("dir", {folder})) return refusal;
  const Settings& settings = config.settings();
  const std::string& made = settings.appendonly ? settings.appenddirname : settings.dbfilename;
  if (std::filesystem::exists(made, fault))
    return Concat(disk.Absolute(made), ": is there already: name another folder (--into), or move ",
                  "it away");
  return {};
}

std::string Number(uint64_t count, std::string_view one, std::string_view many) {
  return Concat(count, ' ', count == 1 ? one : many);
}

// Says what was over, and what became of it; empty: nothing was.
std::string WhatWasOver(const LogState& state, bool is_kept) {
  std::string text;
  if (state.ended.keys > 0) text = Number(state.ended.keys, "key", "keys");
  if (state.ended.fields > 0) {
    ConcatTo(text, text.empty() ? "" : " and ",
             Number(state.ended.fields, "field of a hash", "fields of hashes"));
  }
  if (text.empty()) return {};
  return is_kept ? Concat("kept, without a deadline, although the time was over: ", text)
                 : Concat("left out, as the time was over: ", text,
                          " (--keep-expired keeps them, without a deadline)");
}

// All data of a server that runs, into a file that is not there yet.
Fault FetchAll(const BackupOrder& server, Disk& disk, const std::string& path, std::FILE* out) {
  RedisLink link(server.tls);
  if (Fault fault = LogIn(link, server)) return fault;
  std::unique_ptr<DiskFile> file;
  if (const int unmade = disk.Open(path, Disk::Mode::kAppend, file))
    return Concat(disk.Absolute(path), ": cannot be made: ", std::strerror(unmade));
  uint64_t bytes = 0;
  if (Fault fault = FetchFullSync(link, server.server, *file, bytes)) return fault;
  PrintLine(out, Concat(server.server, " has sent ", bytes, " bytes"));
  return {};
}

}  // namespace

int Import(const ImportOrder& order, Disk& disk, Config& config, const EngineOptions& options,
           std::FILE* out, std::FILE* errors) {
  const auto fail = [errors](std::string_view fault) {
    PrintLine(errors, fault);
    return 1;
  };
  DataFiles files;
  const bool is_from_server = order.from.empty();
  if (!is_from_server) {
    if (const Fault fault = FindDataFiles(order.from, disk, files)) return fail(fault);
  }
  if (const std::string fault = EnterFolder(order.into, disk, config); !fault.empty())
    return fail(fault);
  const std::string received = Concat("temp-import-", int64_t{::getpid()}, ".rdb");
  const absl::Cleanup remove = [&] {
    if (is_from_server) disk.Remove(received);
  };
  if (is_from_server) {
    if (const Fault fault = FetchAll(order.server, disk, received, out)) return fail(fault);
    files.paths = {received};
    files.is_snapshot = true;
  }
  SystemClock clock;
  FileHost host(out, errors);
  Engine engine(config, clock, host, AllCommands(), options);
  engine.Import(files.paths, files.is_snapshot, order.keeps_expired);
  while (engine.loading() && !host.Stopping()) engine.RunTurn();
  if (host.Stopping()) return 1;
  if (const std::string fault = engine.WriteFiles(); !fault.empty()) return fail(fault);
  const std::string over = WhatWasOver(engine.part<LogState>(), order.keeps_expired);
  if (!over.empty()) PrintLine(out, over);
  const Settings& settings = config.settings();
  PrintLine(out, Concat("start a server with --dir ", settings.dir,
                        settings.appendonly ? " --appendonly yes" : ""));
  return 0;
}

}  // namespace sluice
