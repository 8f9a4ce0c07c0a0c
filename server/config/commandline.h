// The command line: `sluice [redis.conf] [-] [--option value ...]`, read as redis-server reads it.
// Options become lines of configuration text, so that a file, standard input and the command line
// have one grammar; what comes later counts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/config/tls_words.h"

namespace sluice {

struct CommandLine {
  enum class Action : uint8_t {
    kRun,
    kHelp,
    kVersion,
    kPrintConfig,
    kPrintInfo,
    kCheckLog,
    kCheckRdb,
    kCheckConfig,
    kImport,
    kExportRedis,
    kBackup,
    kPing,
    kClusterCheck,
    kTop
  };
  Action action = Action::kRun;
  // Empty: none; what kCheckRdb is to look at, kImport reads, kBackup and kExportRedis make.
  std::string file;
  bool from_stdin = false;    // configuration text comes from standard input too
  std::string options;        // the options as configuration text
  std::string log_folder;     // kCheckLog
  bool fix = false;           // kCheckLog
  std::string into = ".";     // kImport: the folder
  bool keep_expired = false;  // kImport
  std::string from;           // kExportRedis: a file or a folder; empty: the server
  // kImport, kBackup, kExportRedis, kPing, kTop: host:port; empty: none.
  std::string server;
  std::vector<std::string> servers;  // kClusterCheck: likewise, at least one
  std::string user, password;        // likewise
  TlsWords tls;                      // likewise
  int64_t wait_ms = 0;               // kPing
  int64_t every_ms = 1000;           // kTop
  int64_t database = 0;              // kTop
  bool once = false;                 // kTop
  std::string fault;                 // what is wrong with the words; empty: nothing
};

// Without the program's name.
CommandLine ReadCommandLine(std::span<const std::string_view> arguments);
// Loads file, standard input's text and options; a sentence for the user, or empty.
Fault Configure(const CommandLine& line, std::string_view stdin_text, Config& config);

std::string_view HelpText();
// One line. Test tools look for "v=" or the first number with dots, and want Redis's version there.
std::string VersionText();

}  // namespace sluice
