// See import.h. The server of the import has no clients: its host is a printer.
#include "server/program/import.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/commands/families.h"
#include "server/engine/engine.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "server/system/system_clock.h"
#include "server/system/system_random.h"
#include "storage/log/log_folder.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

void Print(std::FILE* file, std::string_view line) {
  std::fprintf(file, "sluice: %s\n", HarmlessLine(line, TextOfTerminal()).c_str());
}

class ImportHost final : private ProcessServices, public Host {
 public:
  ImportHost(std::FILE* out, std::FILE* errors)
      : Host(static_cast<ProcessServices&>(*this), at_once_), out_(out), errors_(errors) {}
  void Send(Session&) override {}
  void Closed(SessionId) override {}
  void Poll() override {}
  void FillWithRandom(std::span<uint8_t> bytes) override { FillWithSystemRandom(bytes); }
  void Shutdown(int code) override { code_ = code; }
  bool Stopping() const override { return code_.has_value(); }
  void Sleep(int64_t) override {}
  void Log(LogLevel level, std::string_view line) override {
    if (level >= LogLevel::kNotice) Print(level >= LogLevel::kWarning ? errors_ : out_, line);
  }

 private:
  Background at_once_;
  std::FILE* const out_;
  std::FILE* const errors_;
  std::optional<int> code_;
};

struct Source {
  std::vector<std::string> paths;
  bool is_snapshot = false;
};

// The manifests of logs in a folder and in the folders that are in it.
std::vector<std::string> Manifests(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code fault;
  std::filesystem::recursive_directory_iterator at(folder, fault);
  for (const auto end = decltype(at)(); !fault && at != end; at.increment(fault)) {
    if (at.depth() >= 1) at.disable_recursion_pending();
    if (at->path().extension() == ".manifest") found.push_back(at->path().string());
  }
  std::ranges::sort(found);
  return found;
}

std::string FindInFolder(const std::string& folder, Disk& disk, Source& source) {
  const std::vector<std::string> manifests = Manifests(folder);
  const std::string dump = folder + "/dump.rdb";
  std::unique_ptr<DiskFile> file;
  const bool has_dump = disk.Open(dump, Disk::Mode::kRead, file) == 0;
  if (manifests.size() + (has_dump ? 1 : 0) > 1) {
    return Concat(folder, ": has ", has_dump ? dump : manifests[0], " and ", manifests.back(),
                  ": name the one that is to be imported (of a log, its folder)");
  }
  if (has_dump) {
    source = {{dump}, true};
    return {};
  }
  if (manifests.empty()) return Concat(folder, ": has neither the manifest of a log nor dump.rdb");
  const std::filesystem::path manifest = manifests[0];
  LogFolder log(disk, manifest.parent_path().string(), manifest.stem().string());
  if (std::string fault = log.Look(); !fault.empty()) return fault;
  for (const Manifest::File& each : log.Files()) source.paths.push_back(log.PathOf(each));
  return source.paths.empty() ? Concat(manifests[0], ": names no file") : std::string();
}

std::string Find(const std::string& from, Disk& disk, Source& source) {
  const std::string path = disk.Absolute(from);
  std::unique_ptr<DiskFile> file;
  const int fault = disk.Open(path, Disk::Mode::kRead, file);
  if (fault == EISDIR) return FindInFolder(path, disk, source);
  if (fault != 0) return Concat(path, ": ", WhyUnopened(fault));
  char begin[8];
  size_t got = 0;
  if (const int unread = file->ReadAt(0, begin, got))
    return Concat(path, ": cannot be read: ", std::strerror(unread));
  if (got == 0) return Concat(path, ": it is empty");
  const bool is_log = begin[0] == '*' || begin[0] == '#';
  if (!is_log && !BeginsAsRdb({begin, got}))
    return Concat(path, ": is neither an RDB file nor a log: it begins with ",
                  QuotedWord({begin, got}));
  // Servers before 7.0 wrote logs that begin as RDB files: commands follow.
  source = {{path}, !is_log && !path.ends_with(".aof")};
  return {};
}

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

}  // namespace

int Import(const ImportPaths& paths, Disk& disk, Config& config, const EngineOptions& options,
           std::FILE* out, std::FILE* errors) {
  const auto fail = [errors](std::string_view fault) {
    Print(errors, fault);
    return 1;
  };
  Source source;
  if (const std::string fault = Find(paths.from, disk, source); !fault.empty()) return fail(fault);
  if (const std::string fault = EnterFolder(paths.into, disk, config); !fault.empty())
    return fail(fault);
  SystemClock clock;
  ImportHost host(out, errors);
  Engine engine(config, clock, host, AllCommands(), options);
  engine.Import(source.paths, source.is_snapshot);
  while (engine.loading() && !host.Stopping()) engine.RunTurn();
  if (host.Stopping()) return 1;
  if (const std::string fault = engine.WriteFiles(); !fault.empty()) return fail(fault);
  const Settings& settings = config.settings();
  Print(out, Concat("start a server with --dir ", settings.dir,
                    settings.appendonly ? " --appendonly yes" : ""));
  return 0;
}

}  // namespace sluice
