// See config.h. CONFIG SET takes all of its pairs or none: a fault, also one of a follower, puts
// the old values back and tells the followers once more.
#include "server/config/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/base/macros.h"
#include "protocol/text/concat.h"
#include "protocol/text/glob.h"
#include "protocol/text/near_word.h"
#include "server/config/options.h"
#include "server/config/value.h"

namespace sluice {
namespace {

constexpr std::string_view kWrongNumber = "wrong number of arguments";

// Names the one value that is taken, and why.
// "Sluice takes no other value than '0': ..." The reason is the row's.
std::string Refusal(const Option& option) {
  const std::string only = option.value.empty() ? "\"\"" : Concat('\'', option.value, '\'');
  return Concat("Sluice takes no other value than ", only, ": ", option.doc);
}

// Names have no case.
bool IsName(std::string_view name, std::string_view other) {
  return name.size() == other.size() && GlobMatches(name, other, /*ignore_case=*/true);
}

// Redis's frame for a fault of CONFIG SET.
std::string Failure(std::string_view name, std::string_view fault) {
  return Concat("CONFIG SET failed (possibly related to argument '", name, "') - ", fault);
}

}  // namespace

Config::Config(Disk& disk) : disk_(&disk) {}

std::vector<std::string> Config::TakeWarnings() { return std::exchange(warnings_, {}); }

// As CONFIG GET shows it, in canonical form.
std::string Config::ValueOf(size_t option) const {
  const Option& row = OptionAt(option);
  if (!std::holds_alternative<std::monostate>(row.field)) return WriteField(row, settings_);
  const auto kept = kept_.find(option);
  return kept == kept_.end() ? std::string(row.value) : kept->second;
}

void Config::Preset(std::string_view name, std::vector<std::string> values) {
  const Fault fault = SetAtStart(name, std::move(values));
  ABSL_HARDENING_ASSERT(fault.empty());
}

Fault Config::SetAtStart(std::string_view name, std::vector<std::string> values) {
  const size_t option = FindOption(name);
  if (option == OptionCount()) {
    return Concat("Bad directive or wrong number of arguments",
                  DidYouMean(name.substr(0, name.find('=')), DirectiveNames()));
  }
  if (!OptionAt(option).is_list()) {
    if (values.size() != 1) return std::string(kWrongNumber);
  } else if (values.size() == 1) {
    values = SplitAtSpaces(values[0]);  // --save "3600 1"
  }
  // Save points of several lines add up, as in Redis; they take the place of the default's.
  if (OptionAt(option).name == "save" && !values.empty() && std::exchange(has_save_points_, true)) {
    std::vector<std::string> all = SplitAtSpaces(ValueOf(option));
    all.insert(all.end(), values.begin(), values.end());
    values = std::move(all);
  }
  return Assign(option, values);
}

// Gives an option its value, whether at the start or live. On a fault nothing has changed.
Fault Config::Assign(size_t option, std::span<const std::string> values) {
  const Option& row = OptionAt(option);
  const std::string before = ValueOf(option);
  if (std::holds_alternative<std::monostate>(row.field)) {
    std::string fault;
    std::optional<std::string> value = Canonical(row.shape, values, fault);
    if (!value) return fault;
    if (row.stance == Option::Stance::kRefused) {
      if (*value != row.value) return Refusal(row);
      value = row.value;
    }
    kept_[option] = std::move(*value);
  } else {
    // A list may have a fault in its middle.
    Settings changed = settings_;
    if (std::string fault = ReadField(row, values, changed); !fault.empty()) return fault;
    settings_ = std::move(changed);
  }
  if (row.stance == Option::Stance::kNoEffect && ValueOf(option) != before) {
    warnings_.push_back(Concat("option '", row.name, "' has no effect on Sluice: ", row.doc));
  }
  return {};
}

// --- CONFIG SET

Fault Config::Set(const Pairs& pairs, bool protected_too) {
  std::vector<Change> changes;
  if (std::string fault = CheckChanges(pairs, protected_too, changes); !fault.empty()) return fault;

  const Settings old_settings = settings_;
  const auto old_kept = kept_;
  Pairs old_values;
  for (const Change& change : changes) old_values.emplace_back(change.name, ValueOf(change.option));
  std::string fault;
  for (size_t i = 0; i < changes.size() && fault.empty(); ++i) {
    std::vector<std::string> values = {pairs[i].second};
    if (OptionAt(changes[i].option).is_list()) values = SplitAtSpaces(pairs[i].second);
    fault = Assign(changes[i].option, values);
    if (!fault.empty()) fault = Failure(changes[i].name, fault);
  }
  if (fault.empty()) fault = CarryOut(changes, old_values);
  if (fault.empty()) return {};

  const Pairs failed_values = [&] {
    Pairs values;
    for (const Change& change : changes) values.emplace_back(change.name, ValueOf(change.option));
    return values;
  }();
  settings_ = old_settings;
  kept_ = old_kept;
  // The values from before are carried out again; the first fault is the one that counts.
  static_cast<void>(CarryOut(changes, failed_values));
  return fault;
}

// Names first: no value is looked at before every option is known and may be set.
Fault Config::CheckChanges(const Pairs& pairs, bool protected_too,
                           std::vector<Change>& changes) const {
  for (const auto& [name, value] : pairs) {
    const size_t option = FindOption(name);
    if (option == OptionCount()) {
      return Concat("Unknown option or number of arguments for CONFIG SET - '", name, "'");
    }
    const Option& row = OptionAt(option);
    const bool is_as_it_was = row.is_own && value == ValueOf(option);
    if (row.immutable && !is_as_it_was) return Failure(name, "can't set immutable config");
    if (row.is_protected && !protected_too) return Failure(name, "can't set protected config");
    const bool as_alias = !IsName(row.name, name);
    const std::string_view called = as_alias ? row.alias : row.name;
    for (const Change& other : changes) {
      if (other.name == called) return Failure(name, "duplicate parameter");
    }
    changes.push_back({option, called});
  }
  return {};
}

// Tells the parts that carry a change out, for options whose value is not the old one; stops at the
// first that cannot.
Fault Config::CarryOut(const std::vector<Change>& changes, const Pairs& old_values) {
  for (size_t i = 0; i < changes.size(); ++i) {
    const Option& row = OptionAt(changes[i].option);
    if (!row.reloads && ValueOf(changes[i].option) == old_values[i].second) continue;
    const std::optional<std::string> fault = TellFollowers(row.name);
    if (!fault && row.hosted) {
      return Failure(changes[i].name, "the program that runs this server takes no change of it");
    }
    if (fault && !fault->empty()) return Failure(changes[i].name, *fault);
  }
  return {};
}

// None where no follower takes it.
std::optional<std::string> Config::TellFollowers(std::string_view option) const {
  for (OptionFollower* const follower : followers_) {
    if (std::optional<std::string> fault = follower->OptionChanged(option)) return fault;
  }
  return std::nullopt;
}

bool Config::IsSecret(std::string_view option) {
  const size_t found = FindOption(option);
  return found < OptionCount() && OptionAt(found).secret;
}

bool Config::NeedsData(std::string_view option) {
  const size_t found = FindOption(option);
  return found < OptionCount() && OptionAt(found).needs_data;
}

Config::Config(const Config& other, Disk& disk)
    : disk_(&disk),
      settings_(other.settings_),
      kept_(other.kept_),
      has_save_points_(other.has_save_points_),
      directive_lines_(other.directive_lines_) {}

std::vector<Config::DirectiveLine> Config::LinesOf(std::string_view directive) const {
  std::vector<DirectiveLine> lines;
  std::ranges::copy_if(directive_lines_, std::back_inserter(lines),
                       [&](const DirectiveLine& line) { return line.directive == directive; });
  return lines;
}

// --- CONFIG GET

Config::Pairs Config::Get(std::span<const std::string_view> globs) const {
  Pairs found;
  // For each option: whether its name and its alias have been answered.
  std::vector<std::array<bool, 2>> answered(OptionCount());
  size_t left = 0;  // names and aliases that patterns may find and that have not
  for (size_t option = 0; option < OptionCount(); ++option) {
    if (!OptionAt(option).hidden) left += OptionAt(option).alias.empty() ? 1 : 2;
  }
  const auto add = [&](std::string_view name, size_t option, bool as_alias) {
    if (std::exchange(answered[option][as_alias], true)) return;
    found.emplace_back(name, ValueOf(option));
    if (!OptionAt(option).hidden) --left;
  };
  for (const std::string_view glob : globs) {
    if (left == 0) break;
    // A name that is no pattern is answered as the client spelled it.
    if (glob.find_first_of("[*?") == std::string_view::npos) {
      const size_t option = FindOption(glob);
      if (option < OptionCount()) add(glob, option, !IsName(OptionAt(option).name, glob));
      continue;
    }
    const Glob pattern(glob, /*ignore_case=*/true);
    for (size_t option = 0; option < OptionCount(); ++option) {
      const Option& row = OptionAt(option);
      if (row.hidden) continue;
      for (const bool as_alias : {false, true}) {
        const std::string_view name = as_alias ? row.alias : row.name;
        if (name.empty() || answered[option][as_alias]) continue;
        if (pattern.Matches(name)) add(name, option, as_alias);
      }
    }
  }
  return found;
}

}  // namespace sluice
