// RunDaemon: command line and configuration in, a Server until it stops.
//
// Exit status: 0 when all is well, 1 for a fault, 2 for wrong words of all that is no server
// (--check-rdb, --import, --ping and the like).
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/config/commandline.h"
#include "server/config/config.h"
#include "server/config/version.h"
#include "server/embed/backup.h"
#include "server/embed/check_rdb.h"
#include "server/embed/import.h"
#include "server/embed/ping.h"
#include "server/embed/sluice.h"
#include "server/net/process.h"
#include "server/net/readiness.h"
#include "server/net/server.h"
#include "server/system/system_disk.h"
#include "storage/log/log_check.h"

extern "C" int mi_version() __attribute__((weak));

namespace sluice {
namespace {

constexpr int kWrongWords = 2;  // exit status

std::string ReadStandardInput() {
  std::string text;
  char piece[4096];
  while (const size_t got = std::fread(piece, 1, sizeof piece, stdin)) text.append(piece, got);
  return text;
}

uint64_t SystemRandom() {
  uint64_t random = 0;
  while (getrandom(&random, sizeof random, 0) != sizeof random) {
  }
  return random;
}

std::string ExecutablePath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

std::string SystemName() {
  utsname name;
  if (uname(&name) < 0) return {};
  return Concat(name.sysname, ' ', name.release, ' ', name.machine);
}

// The program that links us may have put mimalloc in malloc's place.
std::string AllocatorName() {
  if (!mi_version) return "libc";
  const int version = mi_version();  // 209 is 2.0.9
  return Concat("mimalloc-", version / 100, '.', version / 10 % 10, '.', version % 10);
}

int Fail(std::string_view sentence, int code = 1) {
  std::fprintf(stderr, "sluice: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  return code;
}

EngineOptions OptionsOf(const Settings& settings) {
  EngineOptions options;
  options.seed = settings.seed;
  if (settings.seed == 0) {
    options.seed = SystemRandom();
    options.hash_key = SipKey{SystemRandom(), SystemRandom()};
  }
  options.executable = ExecutablePath();
  options.os = SystemName();
  options.allocator = AllocatorName();
  options.process_id = getpid();
  return options;
}

// Asked before the configuration is read, for the defaults of others depend on it.
bool IsTestDouble(const CommandLine& line, std::string_view stdin_text, Disk& disk) {
  Config trial(disk);
  return Configure(line, stdin_text, trial).empty() && trial.settings().test_double;
}

int Serve(Config& config) {
  const Settings& settings = config.settings();
  if (settings.daemonize && settings.exit_with_parent) {
    return Fail("daemonize and exit-with-parent don't go together");
  }
  Readiness readiness(settings);
  if (!readiness.fault().empty()) return Fail(readiness.fault());
  if (chdir(settings.dir.c_str()) < 0) {
    return Fail(Concat("can't change to the directory '", settings.dir, "' (dir)"));
  }
  std::error_code unknown;
  if (const auto dir = std::filesystem::current_path(unknown); !unknown) {
    config.SetAtStart("dir", {dir.string()});  // as CONFIG GET shows it
  }
  if (settings.daemonize) {
    if (const std::string error = Daemonize(); !error.empty()) return Fail(error);
  }
  const CommandTable& commands = settings.test_double ? CommandsOfTestDouble() : AllCommands();
  Server server(config, readiness, commands, OptionsOf(settings));
  if (const std::string error = server.Start(); !error.empty()) return Fail(error);
  if (!settings.pidfile.empty()) {
    if (const std::string error = WritePidFile(settings.pidfile); !error.empty()) {
      server.Write(LogLevel::kWarning, error);
    }
  }
  for (const std::string& warning : config.TakeWarnings())
    server.Write(LogLevel::kWarning, warning);
  server.Write(LogLevel::kNotice,
               Concat("Sluice ", kSluiceVersion, " speaks Redis ", kRedisVersion));
  if (settings.test_double) {
    server.Write(LogLevel::kWarning,
                 "this is a test double: every client may move its time and make it fail");
  }
  server.Write(LogLevel::kNotice, Concat("Ready to accept connections on port ", settings.port));
  const int code = server.Run();
  if (!settings.pidfile.empty()) unlink(settings.pidfile.c_str());
  return code;
}

}  // namespace

int RunDaemon(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0), argv + argc);
  const CommandLine line = ReadCommandLine(arguments);
  if (line.action == CommandLine::Action::kHelp) {
    std::printf("%.*s", static_cast<int>(HelpText().size()), HelpText().data());
    return 0;
  }
  if (line.action == CommandLine::Action::kVersion) {
    std::printf("%s\n", VersionText().c_str());
    return 0;
  }
  if (!line.fault.empty()) return Fail(line.fault, kWrongWords);
  if (line.action == CommandLine::Action::kCheckRdb) {
    if (line.file.empty()) return Fail("--check-rdb takes one file", kWrongWords);
    return CheckRdb(line.file, {SystemRandom(), SystemRandom()}, stdout, stderr);
  }
  const char* const word = std::getenv("REDISCLI_AUTH");
  const std::string password = line.password.empty() && word ? word : line.password;
  if (line.action == CommandLine::Action::kPing) {
    return Ping({line.server, line.user, password, line.wait_ms}, stdout, stderr);
  }
  SystemDisk disk;
  if (line.action == CommandLine::Action::kBackup) {
    return Backup({line.server, line.user, password, line.file}, disk, stdout, stderr);
  }
  if (line.action == CommandLine::Action::kCheckLog) {
    if (line.log_folder.empty()) return Fail("--check-aof takes a directory", kWrongWords);
    std::string report;
    const bool is_whole =
        CheckLog(disk, line.log_folder, line.fix, {SystemRandom(), SystemRandom()}, report);
    std::printf("%s", report.c_str());
    return is_whole ? 0 : 1;
  }
  Config config(disk);
  const std::string stdin_text = line.from_stdin ? ReadStandardInput() : std::string();
  if (line.action == CommandLine::Action::kImport) {
    CommandLine options = line;
    options.file.clear();  // it is no configuration
    if (const std::string error = Configure(options, stdin_text, config); !error.empty())
      return Fail(error, kWrongWords);
    return Import({line.file, line.into}, disk, config, OptionsOf(config.settings()), stdout,
                  stderr);
  }
  if (IsTestDouble(line, stdin_text, disk)) {
    // Unless the words say otherwise it leaves no files behind.
    config.SetAtStart("save", {""});
    config.SetAtStart("fence-mark-file", {""});
  }
  if (const std::string error = Configure(line, stdin_text, config); !error.empty()) {
    return Fail(error);
  }
  return Serve(config);
}

}  // namespace sluice
