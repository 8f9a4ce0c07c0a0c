// A Selector: one set of rules, which allows commands on keys and channels. A user has one of its
// own and may have more, in parentheses; a request is allowed when one of them allows all of it.
//
//   Selector selector(/*all_channels=*/false);
//   selector.Apply("+@read", catalogue);
//   selector.Apply("%R~app:*", catalogue);
//
// A selector's memory is bounded: kPatternsMax patterns of each kind and as many first arguments.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/glob.h"
#include "server/access/catalogue.h"
#include "server/access/key_patterns.h"
#include "server/access/verdict.h"

namespace sluice {

// Why a rule is not taken. RuleFaultText has Redis's words for each.
enum class RuleFault : uint8_t {
  kNone,
  kUnknownName,  // of a command or category
  kSyntax,
  kKeysAreAll,  // a pattern behind the one for all keys
  kChannelsAreAll,
  kNoSuchPassword,
  kBadDigest,
  kArgumentOfSubcommand,
  kTooMany,
};
std::string_view RuleFaultText(RuleFault fault);

class Selector {
 public:
  static constexpr size_t kPatternsMax = 4096;

  explicit Selector(bool all_channels) : all_channels_(all_channels) {}

  // One rule. On a fault nothing has changed.
  RuleFault Apply(std::string_view rule, const CommandCatalogue& catalogue);

  // `keys` are those of the request, found once for all selectors of a user, when the first asks
  // for them (keys_known).
  Verdict Check(const AccessRequest& request, std::span<const AccessedKey>& keys,
                bool& keys_known) const;
  // Whether it allows a command with that one key and without channels, whatever else is in the
  // request. False: Check tells more.
  bool AllowsPlainly(size_t command, std::string_view key, uint8_t access) const {
    return (all_commands_ || commands_[command]) && (all_keys_ || keys_.Allow(key, access));
  }
  // Whether it allows such access to whatever key there is.
  bool ReachesAnyKey(uint8_t access) const { return all_keys_ || keys_.AllowAnyKey(access); }
  bool AllowsChannel(std::string_view channel, bool is_pattern) const;
  bool AllowsEverything() const { return all_commands_ && all_keys_ && all_channels_; }

  // As Redis writes it: "~app:* resetchannels -@all +@read".
  std::string Describe(const CommandCatalogue& catalogue) const;
  // The three parts of that, for ACL GETUSER. Commands: all or none, then categories as near as
  // they come, then single commands.
  std::string DescribeCommands(const CommandCatalogue& catalogue) const;
  std::string DescribeKeys() const { return all_keys_ ? "~*" : keys_.Describe(); }
  std::string DescribeChannels() const;

 private:
  struct ChannelPattern {
    std::string text;
    Glob glob;
  };
  struct FirstArgument {
    size_t command;
    std::string text;
  };

  // --- rules
  // False: it is no whole word.
  bool ApplyWord(std::string_view word);
  RuleFault ApplyKeys(std::string_view rule);
  RuleFault ApplyChannels(std::string_view rule);
  RuleFault ApplyCommand(bool allow, std::string_view name, const CommandCatalogue& catalogue);
  RuleFault ApplyFirstArgument(std::string_view name, size_t bar,
                               const CommandCatalogue& catalogue);
  RuleFault ApplyCategory(bool allow, std::string_view name, const CommandCatalogue& catalogue);
  void SetAllCommands(bool allow);
  void SetCommands(const CommandBits& reach, bool allow);

  // --- checks
  bool AllowsCommand(const AccessRequest& request) const;

  bool all_keys_ = false;
  bool all_channels_ = false;
  bool all_commands_ = false;  // by one rule, and none of them taken away since
  CommandBits commands_;
  KeyPatterns keys_;
  std::vector<ChannelPattern> channels_;
  std::vector<FirstArgument> first_arguments_;  // in the order in which they came
};

}  // namespace sluice
