// Configuration: every option is a row (name, alias, type, range, default, live or fixed at start,
// documentation; see options.h); values live in Settings, which the rest of the server reads
// directly.
//
// Options that Redis knows and Sluice does not serve have rows too: they say in words why, accept
// only the value that is true here (cluster-enabled no), and are never silently
// taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "boost/container/flat_map.hpp"
#include "protocol/text/fault.h"
#include "server/config/option_follower.h"
#include "server/config/settings.h"
#include "storage/disk.h"

namespace sluice {

struct CommandDirective;

// References to settings() stay valid as long as the Config; values change under them, between
// commands.
class Config {
 public:
  // `disk` holds the configuration file; it outlives the configuration.
  explicit Config(Disk& disk);
  // The values of another one, as they are now; with no file, and with none of those whom it calls.
  Config(const Config& other, Disk& disk);

  const Settings& settings() const { return settings_; }
  Disk& disk() const { return *disk_; }

  // --- start: file, then flags. Each returns an error sentence, or empty; warnings are collected.
  Fault LoadFile(const std::string& path);  // redis.conf syntax, `include` too
  // The same from memory ("sluice -"); `source` names it in errors (none: flags).
  Fault LoadText(std::string_view text, std::string_view source = "standard input");
  // From now on a line with a fault is passed over and its sentence kept here, so that all of a
  // configuration can be looked at; the functions above then return nothing.
  void GatherFaults() { gathers_faults_ = true; }
  const std::vector<std::string>& faults() const { return faults_; }
  // Sets an option, also one that only a start may set, as a line of a file does. The fault alone,
  // without where it was found.
  Fault SetAtStart(std::string_view name, std::vector<std::string> values);
  // The same with a value of the program's own. Requires: the option takes it.
  void Preset(std::string_view name, std::vector<std::string> values);
  // The system has chosen it (`port any`).
  void PortIs(int64_t port) { settings_.port = port; }
  // The warnings since the last call, for the log: live changes warn too.
  std::vector<std::string> TakeWarnings();

  // --- CONFIG SET: all or none. On failure the sentence as Redis words it after "ERR ".
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  // Checks and assigns, then lets followers carry it out; a fault anywhere puts everything back.
  // `protected_too`: the client may change protected options (enable-protected-configs).
  // O(settings).
  Fault Set(const Pairs& pairs, bool protected_too = false);
  // CONFIG GET: name and value of every option whose name or alias matches one of the globs; both
  // names may be answered, each once. O(options) for each glob.
  Pairs Get(std::span<const std::string_view> globs) const;
  // REPLICAOF: the server follows that one from now on, or none.
  void SetMaster(Settings::Master master) { settings_.replicaof = std::move(master); }
  // CONFIG REWRITE of the file given at start; error sentence or empty. `users`: the new lines of
  // users; none: they are in a file of their own.
  Fault Rewrite(std::span<const std::string> users = {});
  const std::string& file() const { return file_; }  // "" when there is none
  // Lines that are no options, and whose meaning is known only where the commands are: "user ..."
  // and "rename-command ...". LinesOf gives the lines of one directive, in their order.
  struct DirectiveLine {
    std::string_view directive;
    std::vector<std::string> words;  // behind the directive
    std::string place;               // "redis.conf, line 7"
  };
  std::vector<DirectiveLine> LinesOf(std::string_view directive) const;

  // Whether the value of that option is secret: MONITOR and SLOWLOG hide it.
  static bool IsSecret(std::string_view option);
  // Whether it cannot be changed while data are loaded.
  static bool NeedsData(std::string_view option);

  // Is told of live changes, until it unfollows. Options such as `port` cannot be changed live
  // where no follower takes them; the first that does is the only one to be asked.
  void Follow(OptionFollower& follower) { followers_.push_back(&follower); }
  void Unfollow(OptionFollower& follower) { std::erase(followers_, &follower); }

 private:
  static constexpr int kIncludeDepthMax = 16;
  // Where a line of configuration text stands: for its fault, and for the bound on includes.
  struct Place {
    std::string_view source;
    int line = 0;
    int depth = 0;
  };
  struct Change {
    size_t option;
    std::string_view name;  // as the client calls it: option or alias
  };

  Fault LoadFile(const std::string& path, int depth);
  Fault LoadLines(std::string_view text, Place place);
  Fault LoadLine(std::string_view line, const Place& place);
  Fault LoadDirective(std::vector<std::string> words, const Place& place);
  Fault Include(const std::string& pattern, int depth);
  Fault KeepLine(const CommandDirective& directive, std::vector<std::string> words,
                 const Place& place);
  Fault Assign(size_t option, std::span<const std::string> values);
  Fault CheckChanges(const Pairs& pairs, bool protected_too, std::vector<Change>& changes) const;
  Fault CarryOut(const std::vector<Change>& changes, const Pairs& old_values);
  std::string ValueOf(size_t option) const;
  std::optional<std::string> TellFollowers(std::string_view option) const;
  // The line or lines that a config file needs for an option, its name included.
  std::vector<std::string> LinesFor(size_t option) const;

  Disk* disk_;
  Settings settings_;
  // Values of options without a member of Settings, by number: where it is not the row's.
  boost::container::flat_map<size_t, std::string> kept_;
  std::vector<std::string> warnings_;
  bool gathers_faults_ = false;
  std::vector<std::string> faults_;
  std::string file_;              // absolute
  bool has_save_points_ = false;  // a line at the start has said some
  std::vector<DirectiveLine> directive_lines_;
  std::vector<OptionFollower*> followers_;
};

}  // namespace sluice
