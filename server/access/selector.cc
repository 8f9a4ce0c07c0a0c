// See selector.h. Rules are read as Redis reads them: words in any case and as C strings, a pattern
// without blanks and NULs, a later rule over an earlier one.
#include "server/access/selector.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/access/redis_mark.h"

namespace sluice {
namespace {

bool HasBlank(std::string_view text) {
  return text.find_first_of(std::string_view(" \t\n\v\f\r\0", 7)) != std::string_view::npos;
}

// Without the marks in front; 0: they make no sense.
uint8_t TakeAccess(std::string_view& rule) {
  if (rule.front() == '~') {
    rule.remove_prefix(1);
    return kReadsAndWrites;
  }
  rule.remove_prefix(1);
  uint8_t access = 0;
  while (!rule.empty()) {
    const char mark = rule.front();
    rule.remove_prefix(1);
    if (mark == '~') return access;
    const uint8_t kind = mark == 'r' || mark == 'R'   ? kReads
                         : mark == 'w' || mark == 'W' ? kWrites
                                                      : 0;
    if (kind == 0 || (access & kind)) return 0;
    access |= kind;
  }
  return access;
}

}  // namespace

std::string_view RuleFaultText(RuleFault fault) {
  switch (fault) {
    case RuleFault::kUnknownName:
      return "Unknown command or category name in ACL";
    case RuleFault::kSyntax:
      return "Syntax error";
    case RuleFault::kKeysAreAll:
      return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does "
             "not have any effect. Try 'resetkeys' to start with an empty list of patterns";
    case RuleFault::kChannelsAreAll:
      return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and "
             "does not have any effect. Try 'resetchannels' to start with an empty list of "
             "channels";
    case RuleFault::kNoSuchPassword:
      return "The password you are trying to remove from the user does not exist";
    case RuleFault::kBadDigest:
      return "The password hash must be exactly 64 characters and contain only lowercase "
             "hexadecimal characters";
    case RuleFault::kArgumentOfSubcommand:
      return "Allowing first-arg of a subcommand is not supported";
    case RuleFault::kTooMany:
      return "A user may have 256 selectors, and 4096 rules of one kind, not more";
    case RuleFault::kNone:
      break;
  }
  return {};
}

// --- rules

RuleFault Selector::Apply(std::string_view rule, const CommandCatalogue& catalogue) {
  const std::string_view word = rule.substr(0, rule.find('\0'));
  if (word.empty()) return RuleFault::kSyntax;
  if (ApplyWord(word)) return RuleFault::kNone;
  const bool allow = word.front() == '+';
  switch (word.front()) {
    case '~':
    case '%':
      return ApplyKeys(rule);
    case '&':
      return ApplyChannels(rule);
    case '+':
    case '-':
      if (word.size() > 1 && word[1] == '@') return ApplyCategory(allow, word.substr(2), catalogue);
      return ApplyCommand(allow, word.substr(1), catalogue);
    default:
      return RuleFault::kSyntax;
  }
}

bool Selector::ApplyWord(std::string_view word) {
  const auto is = [word](std::string_view name, std::string_view sign) {
    return IsSameInAnyCase(word, name) || (!sign.empty() && IsSameInAnyCase(word, sign));
  };
  if (is("allkeys", "~*") || is("resetkeys", "")) {
    all_keys_ = !is("resetkeys", "");
    keys_.clear();
  } else if (is("allchannels", "&*") || is("resetchannels", "")) {
    all_channels_ = !is("resetchannels", "");
    channels_.clear();
  } else if (is("allcommands", "+@all")) {
    SetAllCommands(true);
  } else if (is("nocommands", "-@all")) {
    SetAllCommands(false);
  } else {
    return false;
  }
  return true;
}

// The same pattern again adds to what it allows.
RuleFault Selector::ApplyKeys(std::string_view rule) {
  if (all_keys_) return RuleFault::kKeysAreAll;
  const uint8_t access = TakeAccess(rule);
  if (access == 0 || HasBlank(rule)) return RuleFault::kSyntax;
  if (keys_.size() == kPatternsMax && !keys_.Has(rule)) return RuleFault::kTooMany;
  keys_.Add(rule, access);
  return RuleFault::kNone;
}

RuleFault Selector::ApplyChannels(std::string_view rule) {
  if (all_channels_) return RuleFault::kChannelsAreAll;
  rule.remove_prefix(1);
  if (HasBlank(rule)) return RuleFault::kSyntax;
  const auto there = std::ranges::find(channels_, rule, &ChannelPattern::text);
  if (there != channels_.end()) return RuleFault::kNone;
  if (channels_.size() == kPatternsMax) return RuleFault::kTooMany;
  channels_.push_back({std::string(rule), Glob(rule)});
  return RuleFault::kNone;
}

// "get", "config" with all its subcommands, "config|get"; allowed, also "select|0".
RuleFault Selector::ApplyCommand(bool allow, std::string_view name,
                                 const CommandCatalogue& catalogue) {
  const size_t bar = name.rfind('|');
  const std::optional<size_t> number = catalogue.Find(name);
  if (allow && bar != std::string_view::npos && !number) {
    return ApplyFirstArgument(name, bar, catalogue);
  }
  if (!number) return RuleFault::kUnknownName;
  SetCommands(catalogue.ReachOf(*number), allow);
  std::erase_if(first_arguments_, [&](const FirstArgument& it) { return it.command == *number; });
  return RuleFault::kNone;
}

// A command that is not allowed otherwise may have this as its first argument.
RuleFault Selector::ApplyFirstArgument(std::string_view name, size_t bar,
                                       const CommandCatalogue& catalogue) {
  const std::optional<size_t> number = catalogue.Find(name.substr(0, bar));
  const std::string_view argument = name.substr(bar + 1);
  if (!number) return RuleFault::kUnknownName;
  if (catalogue.IsSubcommand(*number)) return RuleFault::kArgumentOfSubcommand;
  // Redis takes a blank here, and then writes a file that reads as other rules, or another user.
  if (argument.empty() || HasBlank(argument)) return RuleFault::kSyntax;
  if (catalogue.HasSubcommands(*number)) return RuleFault::kUnknownName;
  for (const FirstArgument& it : first_arguments_) {
    if (it.command == *number && IsSameInAnyCase(it.text, argument)) return RuleFault::kNone;
  }
  if (first_arguments_.size() == kPatternsMax) return RuleFault::kTooMany;
  first_arguments_.push_back({*number, std::string(argument)});
  return RuleFault::kNone;
}

RuleFault Selector::ApplyCategory(bool allow, std::string_view name,
                                  const CommandCatalogue& catalogue) {
  const std::optional<size_t> category = FindAccessCategory(name);
  if (!category) return RuleFault::kUnknownName;
  SetCommands(catalogue.CategoryReachOf(*category), allow);
  const CommandBits& members = catalogue.MembersOf(*category);
  std::erase_if(first_arguments_, [&](const FirstArgument& it) { return members[it.command]; });
  return RuleFault::kNone;
}

void Selector::SetAllCommands(bool allow) {
  all_commands_ = allow;
  allow ? commands_.set() : commands_.reset();
  first_arguments_.clear();
}

void Selector::SetCommands(const CommandBits& reach, bool allow) {
  if (allow) {
    commands_ |= reach;
  } else {
    commands_ &= ~reach;
    if (reach.any()) all_commands_ = false;
  }
}

// --- checks

bool Selector::AllowsCommand(const AccessRequest& request) const {
  if (all_commands_ || request.always_runs || commands_[request.command]) return true;
  if (request.args.size() < 2) return false;
  const std::string_view given = request.args[1].substr(0, request.args[1].find('\0'));
  return std::ranges::any_of(first_arguments_, [&](const FirstArgument& it) {
    return it.command == request.command && IsSameInAnyCase(it.text, given);
  });
}

bool Selector::AllowsChannel(std::string_view channel, bool is_pattern) const {
  if (all_channels_) return true;
  return std::ranges::any_of(channels_, [&](const ChannelPattern& pattern) {
    return is_pattern ? pattern.text == channel : pattern.glob.Matches(channel);
  });
}

Verdict Selector::Check(const AccessRequest& request, std::span<const AccessedKey>& keys,
                        bool& keys_known) const {
  if (!AllowsCommand(request)) return {.denial = Denial::kCommand};
  if (!all_keys_) {
    if (!keys_known) keys = request.keys();
    keys_known = true;
    for (const AccessedKey& key : keys) {
      if (!keys_.Allow(request.args[key.position], key.access))
        return {.denial = Denial::kKey, .position = key.position};
    }
  }
  if (all_channels_) return {};
  for (size_t at = request.channels_begin; at < request.channels_end; ++at) {
    if (!AllowsChannel(request.args[at], request.channels_are_patterns))
      return {.denial = Denial::kChannel, .position = at};
  }
  return {};
}

// --- as text

std::string Selector::DescribeChannels() const {
  if (all_channels_) return "&*";
  std::string text;
  for (const ChannelPattern& pattern : channels_) {
    ConcatTo(text, text.empty() ? "&" : " &", pattern.text);
  }
  return text;
}

std::string Selector::Describe(const CommandCatalogue& catalogue) const {
  const std::string keys = DescribeKeys();
  const std::string channels = DescribeChannels();
  return Concat(keys, keys.empty() ? "" : " ", all_channels_ ? "" : "resetchannels ", channels,
                channels.empty() ? "" : " ", DescribeCommands(catalogue));
}

namespace {

// The category that Redis finds the next best: the category that has more in common with the rules
// than not, with the fewest commands that do not fit; among them the one with the most that do. For
// Redis's categories its own commands count; ours come when no other fits, and all their commands
// count.
std::optional<size_t> BestCategory(const CommandBits& left, bool adds, uint32_t used,
                                   const CommandCatalogue& catalogue) {
  constexpr size_t kOwnCategories = 2;  // @lock and @limit, the last
  const size_t all = AccessCategoryNames().size();
  std::optional<size_t> best;
  size_t fewest_wrong = 0;
  size_t most_right = 0;
  for (size_t category = 0; category < all; ++category) {
    if (used >> category & 1) continue;
    const bool is_own = category >= all - kOwnCategories;
    if (is_own && best) break;
    CommandBits members = catalogue.MembersOf(category);
    if (!is_own) members &= catalogue.MembersOf(kRedisMark);
    const size_t on = (members & left).count();
    const size_t off = members.count() - on;
    const size_t wrong = adds ? off : on;
    const size_t right = adds ? on : off;
    if (right <= wrong) continue;
    if (!best || wrong < fewest_wrong || (wrong == fewest_wrong && right > most_right)) {
      best = category;
      fewest_wrong = wrong;
      most_right = right;
    }
  }
  return best;
}

}  // namespace

std::string Selector::DescribeCommands(const CommandCatalogue& catalogue) const {
  const bool adds = !commands_[kCommandBits - 1];
  std::string text = adds ? "-@all" : "+@all";
  CommandBits said = adds ? CommandBits() : ~CommandBits();
  CommandBits left = commands_;
  uint32_t used = 0;
  while (const std::optional<size_t> best = BestCategory(left, adds, used, catalogue)) {
    const CommandBits& reach = catalogue.CategoryReachOf(*best);
    said = adds ? said | reach : said & ~reach;
    left = adds ? left & ~reach : left | reach;
    used |= 1u << *best;
    ConcatTo(text, adds ? " +@" : " -@", AccessCategoryNames()[*best]);
  }
  for (size_t number = 0; number < catalogue.size(); ++number) {
    if (said[number] != commands_[number]) {
      const CommandBits reach = catalogue.ReachOf(number);
      said = commands_[number] ? said | reach : said & ~reach;
      ConcatTo(text, commands_[number] ? " +" : " -", catalogue.NameOf(number));
    }
    if (commands_[number]) continue;
    for (const FirstArgument& it : first_arguments_) {
      if (it.command == number) ConcatTo(text, " +", catalogue.NameOf(number), '|', it.text);
    }
  }
  return text;
}

}  // namespace sluice
