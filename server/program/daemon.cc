// RunDaemon: command line and configuration in, a Server until it stops.
//
// Exit status: 0 when all is well, 1 for a fault, 2 for wrong words of all that is no server
// (--check-rdb, --import, --ping, top and the like).
#include "server/program/daemon.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "server/config/commandline.h"
#include "server/config/config.h"
#include "server/config/sample.h"
#include "server/embed/serving/host_facts.h"
#include "server/embed/serving/server.h"
#include "server/figures/sections.h"
#include "server/net/hand_over/predecessor.h"
#include "server/net/process/process.h"
#include "server/net/readiness.h"
#include "server/program/backup.h"
#include "server/program/check_config.h"
#include "server/program/check_rdb.h"
#include "server/program/cluster_check.h"
#include "server/program/export_redis.h"
#include "server/program/import.h"
#include "server/program/ping.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "server/program/top/top.h"
#include "server/system/system_disk.h"
#include "server/system/system_random.h"
#include "storage/keyspace/keyspace.h"
#include "storage/log/log_check.h"

namespace sluice {
namespace {

constexpr int kWrongWords = 2;  // exit status

std::string ReadStandardInput() {
  std::string text;
  char piece[4096];
  while (const size_t got = std::fread(piece, 1, sizeof piece, stdin)) text.append(piece, got);
  return text;
}

int Fail(std::string_view sentence, int code = 1) {
  std::fprintf(stderr, "sluice: %s\n", HarmlessLine(sentence, TextOfTerminal()).c_str());
  return code;
}

// The text of forms that only print; empty for all others.
std::string TextFor(CommandLine::Action action, Disk& disk) {
  switch (action) {
    case CommandLine::Action::kHelp:
      return std::string(HelpText());
    case CommandLine::Action::kVersion:
      return Concat(VersionText(), '\n');
    case CommandLine::Action::kPrintConfig:
      return SampleConfiguration(Config(disk));
    case CommandLine::Action::kPrintInfo:
      return InfoPage();
    default:
      return {};
  }
}

// This process: its pid file, what it tells others, and how it was started.
class Process {
 public:
  Process(const CommandLine& line, const Settings& settings, std::vector<std::string> words)
      : has_predecessor_(Predecessor::IsThere()),
        readiness_(settings, has_predecessor_),
        settings_(settings) {
    // A configuration from standard input is not there for another process.
    if (!line.from_stdin) words_ = std::move(words);
    std::error_code unknown;
    folder_ = std::filesystem::current_path(unknown).string();
  }
  ~Process() {
    if (has_pid_file_) unlink(settings_.pidfile.c_str());
  }
  Process(const Process&) = delete;

  // Why it cannot be what the options want. A server that takes another's place is in the
  // background with it.
  Fault Begin() const {
    if (!readiness_.fault().empty()) return readiness_.fault();
    if (access(settings_.dir.c_str(), X_OK) != 0) return NoFolder();
    return settings_.daemonize && !has_predecessor_ ? Daemonize() : Fault();
  }
  Fault EnterFolder() const { return chdir(settings_.dir.c_str()) < 0 ? NoFolder() : Fault(); }
  void Describe(ServerOptions& options) {
    options.command = words_;
    options.command_folder = folder_;
    options.on_handed_over = [this] {
      readiness_.GiveAway();
      has_pid_file_ = false;
    };
  }
  void Log(std::string_view text) const {
    std::fprintf(readiness_.log_output(), "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(readiness_.log_output());
  }
  // Clients can connect, and are served: sentences of what could not be told, or empty. The pid
  // file is a predecessor's until clients are served.
  std::string Started() { return has_predecessor_ ? std::string() : TakePidFile(); }
  std::string Ready(const std::string& address, int port) {
    const std::string fault = has_predecessor_ ? TakePidFile() : std::string();
    const std::string untold = readiness_.Tell(address, port);
    return fault.empty() ? untold : fault;
  }

 private:
  std::string TakePidFile() {
    if (settings_.pidfile.empty()) return {};
    std::string fault = WritePidFile(settings_.pidfile);
    has_pid_file_ = fault.empty();
    return fault;
  }
  Fault NoFolder() const {
    return Concat("can't change to the directory '", settings_.dir, "' (dir)");
  }

  const bool has_predecessor_;
  Readiness readiness_;
  const Settings& settings_;
  std::vector<std::string> words_;
  std::string folder_;
  bool has_pid_file_ = false;
};

// Files, sockets and threads are made by the server, behind all that is done to the process.
int Serve(const CommandLine& line, std::vector<std::string> words, const std::string& stdin_text,
          const Settings& settings) {
  if (const std::string_view fault = ProcessFault(settings); !fault.empty()) return Fail(fault);
  Process process(line, settings, std::move(words));
  if (const std::string error = process.Begin(); !error.empty()) return Fail(error);
  Server server;
  ServerOptions options{.file = line.file,
                        .text = Concat(stdin_text, line.from_stdin ? "\n" : "", line.options),
                        .loop = ServerOptions::Loop::kProcess};
  options.log = [&](std::string_view text) { process.Log(text); };
  // Behind the configuration, whose names are seen from where the process was started.
  options.on_configured = [&] { return process.EnterFolder(); };
  // Without a log to load that is before Start returns, and a line can be added to the log.
  std::string untold;
  options.on_ready = [&](const std::string& address, int port) {
    untold = process.Ready(address, port);
    if (server.running()) server.Log(untold);
  };
  process.Describe(options);
  if (const std::string error = server.Start(std::move(options)); !error.empty())
    return Fail(error);
  server.Log(untold);
  server.Log(process.Started());
  return server.RunAsProcess();
}

// The forms that load files into an engine, and write others.
int LoadFiles(const CommandLine& line, const std::string& stdin_text, BackupOrder server,
              Disk& disk) {
  const bool is_import = line.action == CommandLine::Action::kImport;
  Config config(disk);
  // As many as there can be: a stopped server's own number is not known.
  if (!is_import) config.Preset("databases", {Concat(Keyspace::kDatabasesMax)});
  CommandLine options = line;
  options.file.clear();  // it is no configuration
  if (const std::string error = Configure(options, stdin_text, config); !error.empty())
    return Fail(error, kWrongWords);
  const EngineOptions facts = HostFacts(config.settings());
  if (is_import)
    return Import({line.file, std::move(server), line.into, line.keep_expired}, disk, config, facts,
                  stdout, stderr);
  return ExportRedis({line.from, std::move(server), line.file}, disk, config, facts, stdout,
                     stderr);
}

}  // namespace

int RunDaemon(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0), argv + argc);
  const CommandLine line = ReadCommandLine(arguments);
  if (!line.fault.empty())
    return Fail(line.fault, line.action == CommandLine::Action::kRun ? 1 : kWrongWords);
  SystemDisk disk;
  if (const std::string text = TextFor(line.action, disk); !text.empty()) {
    std::printf("%s", text.c_str());
    return 0;
  }
  if (line.action == CommandLine::Action::kCheckRdb) {
    return CheckRdb(line.file, {SystemRandom(), SystemRandom()}, stdout, stderr);
  }
  const char* const word = std::getenv("REDISCLI_AUTH");
  const std::string password = line.password.empty() && word ? word : line.password;
  if (line.action == CommandLine::Action::kClusterCheck)
    return ClusterCheck({line.servers, line.user, password, line.tls}, stdout, stderr);
  if (line.action == CommandLine::Action::kPing) {
    return Ping({line.server, line.user, password, line.tls, line.wait_ms}, stdout, stderr);
  }
  if (line.action == CommandLine::Action::kTop) {
    return Top(
        {line.server, line.user, password, line.tls, line.database, line.every_ms, line.once},
        stdout, stderr);
  }
  if (line.action == CommandLine::Action::kBackup) {
    return Backup({line.server, line.user, password, line.tls, line.file}, disk, stdout, stderr);
  }
  if (line.action == CommandLine::Action::kCheckLog) {
    std::string report;
    const bool is_whole =
        CheckLog(disk, line.log_folder, line.fix, {SystemRandom(), SystemRandom()}, report);
    std::printf("%s", HarmlessLines(report, TextOfTerminal()).c_str());
    return is_whole ? 0 : 1;
  }
  const std::string stdin_text = line.from_stdin ? ReadStandardInput() : std::string();
  if (line.action == CommandLine::Action::kCheckConfig)
    return CheckConfig(line, stdin_text, disk, stdout);
  if (line.action == CommandLine::Action::kImport ||
      line.action == CommandLine::Action::kExportRedis)
    return LoadFiles(line, stdin_text, {line.server, line.user, password, line.tls, {}}, disk);
  Config config(disk);
  // The server reads it once more, for itself.
  if (const std::string error = Configure(line, stdin_text, config); !error.empty())
    return Fail(error);
  return Serve(line, {argv, argv + argc}, stdin_text, config.settings());
}

}  // namespace sluice
