// See check_config.h.
#include "server/program/check_config.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/engine/configured_users.h"
#include "server/net/tls/tls_context.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

using Sentences = std::vector<std::string>;

void Add(Sentences& faults, std::string_view fault) {
  if (!fault.empty()) faults.emplace_back(fault);
}

void AddAll(Sentences& faults, Sentences more) {
  for (std::string& each : more) faults.push_back(std::move(each));
}

// A server reads it once it is in its folder.
void CheckUserFile(const Settings& settings, Disk& disk, const Users& users, Sentences& faults) {
  if (settings.aclfile.empty()) return;
  const bool is_absolute = settings.aclfile.front() == '/';
  const std::string path =
      is_absolute ? settings.aclfile : Concat(settings.dir, '/', settings.aclfile);
  std::string text;
  if (const int fault = disk.Read(path, text); fault != 0) {
    faults.push_back(Concat("aclfile '", path, "': ", WhyUnopened(fault)));
  } else {
    Add(faults, users.Read(text, path).faults);
  }
}

void CheckUsers(const Config& config, const CommandTable& commands, Disk& disk, Sentences& faults) {
  Users users(commands.catalogue());
  AddAll(faults, ReadConfiguredUsers(config, users).faults);
  CheckUserFile(config.settings(), disk, users, faults);
}

void CheckFiles(const Settings& settings, Sentences& faults) {
  if (access(settings.dir.c_str(), X_OK) != 0)
    faults.push_back(Concat("can't change to the directory '", settings.dir, "' (dir)"));
  const bool has_tls = settings.tls_port != 0 || (settings.http_port != 0 && settings.http_tls);
  if (has_tls) Add(faults, TlsContext().Load(settings));
}

std::string Summary(size_t faults, size_t warnings) {
  const auto counted = [](size_t count, std::string_view word) {
    return Concat(uint64_t{count}, ' ', word, count == 1 ? "" : "s");
  };
  if (faults == 0) return Concat("A server takes this: ", counted(warnings, "warning"), '.');
  return Concat("No server starts with this: ", counted(faults, "refusal"), ", ",
                counted(warnings, "warning"), '.');
}

}  // namespace

std::string_view ProcessFault(const Settings& settings) {
  if (settings.daemonize && settings.exit_with_parent)
    return "daemonize and exit-with-parent don't go together";
  return {};
}

int CheckConfig(const CommandLine& line, std::string_view stdin_text, Disk& disk, std::FILE* out) {
  Config config(disk);
  config.GatherFaults();
  Sentences faults;
  Add(faults, Configure(line, stdin_text, config));
  AddAll(faults, config.faults());
  const Settings& settings = config.settings();
  Sentences of_commands;
  const std::unique_ptr<const CommandTable> own = OwnCommands(config, of_commands);
  AddAll(faults, of_commands);
  const CommandTable& shared = settings.test_double ? CommandsOfTestDouble() : AllCommands();
  CheckUsers(config, own ? *own : shared, disk, faults);
  CheckFiles(settings, faults);
  Add(faults, ProcessFault(settings));
  const Sentences warnings = config.TakeWarnings();
  const auto say = [out](std::string_view what, const std::string& sentence) {
    const std::string line = Concat(what, HarmlessLine(sentence, TextOfTerminal()), '\n');
    std::fwrite(line.data(), 1, line.size(), out);
  };
  for (const std::string& fault : faults) say("refused: ", fault);
  for (const std::string& warning : warnings) say("warning: ", warning);
  std::fprintf(out, "%s\n", Summary(faults.size(), warnings.size()).c_str());
  return faults.empty() ? 0 : 1;
}

}  // namespace sluice
