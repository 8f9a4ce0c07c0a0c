// The command line: `sluice [redis.conf] [-] [--option value ...]`, read as redis-server reads it.
// Options become lines of configuration text, so that a file, standard input and the command line
// have one grammar; what comes later counts.
#pragma once

#include <span>
#include <string>
#include <string_view>

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
    kBackup,
    kPing,
    kTop
  };
  Action action = Action::kRun;
  std::string file;  // empty: none; what kCheckRdb is to look at, kImport reads, kBackup makes
  bool from_stdin = false;     // configuration text comes from standard input too
  std::string options;         // the options as configuration text
  std::string log_folder;      // kCheckLog
  bool fix = false;            // kCheckLog
  std::string into = ".";      // kImport: the folder
  std::string server;          // kBackup, kPing, kTop: host:port; empty: it is missing
  std::string user, password;  // likewise
  TlsWords tls;                // likewise
  int64_t wait_ms = 0;         // kPing
  int64_t every_ms = 1000;     // kTop
  int64_t database = 0;        // kTop
  bool once = false;           // kTop
  std::string fault;           // what is wrong with the words; empty: nothing
};

// Without the program's name.
CommandLine ReadCommandLine(std::span<const std::string_view> arguments);
// Loads file, standard input's text and options; a sentence for the user, or empty.
Fault Configure(const CommandLine& line, std::string_view stdin_text, Config& config);

std::string_view HelpText();
std::string VersionText();  // one line

}  // namespace sluice
