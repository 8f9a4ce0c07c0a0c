// The rows of the configuration: one Option says everything about one option. Served ones name the
// member of Settings that holds their value and default (served.cc). Options that Redis knows and
// Sluice does not serve (unserved.cc) hold their true value in the row and the reason in words:
// kRefused ones take no other value, because a user would rely on it; kNoEffect ones are tuning and
// are taken with a warning.
//
//   Served("port", &Settings::port, Int(0, 65535), "TCP port; 0: none").Hosted(),
//   Refused("tls-cluster", "no", kYesNo, kNoCluster),
//
// Rows are constants. Options are numbered, the served ones first; the number stays the same while
// the program runs.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/config/settings.h"

namespace sluice {

using OptionValues = std::span<const std::string>;
using OptionWords = std::span<const std::string_view>;

// An option that is a list of its own kind, kept in Settings.
struct OptionCodec {
  // Reads the values into `settings`; the fault as Redis words it, or empty.
  std::string (*read)(OptionValues values, Settings& settings);
  std::string (*write)(const Settings& settings);  // as CONFIG GET shows it
  // The lines that a config file needs for it, each without the option's name; null: one line.
  std::vector<std::string> (*lines)(const Settings& settings) = nullptr;
};

// Which text is a value.
struct OptionShape {
  enum class Kind : uint8_t {
    kYesNo,
    kInteger,
    kMemory,
    kMemoryOrPercent,
    kOctal,
    kText,
    kWord,
    kList
  };
  Kind kind = Kind::kText;
  int64_t low = 0;
  int64_t high = 0;
  OptionWords words;                                    // kWord
  std::string (*check)(OptionValues values) = nullptr;  // kText, kList: a fault, or empty
  int64_t least = INT64_MIN;                            // what a smaller number becomes
  int64_t most = INT64_MAX;                             // and a larger one
};

inline constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kLongMax = std::numeric_limits<int64_t>::max();

inline constexpr OptionShape kYesNo{OptionShape::Kind::kYesNo};
inline constexpr OptionShape kAnyText{OptionShape::Kind::kText};
constexpr OptionShape Int(int64_t low, int64_t high) {
  return {OptionShape::Kind::kInteger, low, high};
}
// Any count is taken; one out of the range becomes its nearest.
constexpr OptionShape IntMovedTo(int64_t least, int64_t most) {
  OptionShape shape = Int(0, kIntMax);
  shape.least = least;
  shape.most = most;
  return shape;
}
constexpr OptionShape Memory(int64_t low = 0, int64_t high = kLongMax) {
  return {OptionShape::Kind::kMemory, low, high};
}
// Any size is taken; one below `least` becomes that.
constexpr OptionShape MemoryRaisedTo(int64_t least) {
  OptionShape shape = Memory(1);
  shape.least = least;
  return shape;
}
constexpr OptionShape OneOf(OptionWords words) { return {OptionShape::Kind::kWord, 0, 0, words}; }
inline constexpr std::string_view kWhoMay[] = {"no", "yes", "local"};  // of what is dangerous

struct Option {
  enum class Stance : uint8_t { kServed, kNoEffect, kRefused };
  using Field = std::variant<std::monostate, bool Settings::*, int64_t Settings::*,
                             uint64_t Settings::*, std::string Settings::*, const OptionCodec*>;

  std::string_view name;
  std::string_view alias;  // Redis's old name for it
  Stance stance = Stance::kServed;
  OptionShape shape;
  Field field;  // where the value is; none: in Config, starting as `value`
  std::string_view value;
  std::string_view doc;       // what it is for; if it is not served: why not
  bool immutable = false;     // only at start
  bool hidden = false;        // CONFIG GET answers its name, but no pattern
  bool is_own = false;        // Redis does not have it: tools that set all they have read may do so
  bool is_protected = false;  // CONFIG SET needs enable-protected-configs
  bool secret = false;        // a password: MONITOR and SLOWLOG hide its value
  bool hosted = false;        // a live change needs an OptionFollower that carries it out
  bool needs_data = false;    // CONFIG SET is refused while data are loaded
  bool reloads = false;       // CONFIG SET to the value that it has tells the follower, too

  constexpr Option Alias(std::string_view old_name) const {
    Option option = *this;
    option.alias = old_name;
    return option;
  }
  constexpr Option Immutable() const {
    Option option = *this;
    option.immutable = true;
    return option;
  }
  // Immutable, but for the value that it has.
  constexpr Option OwnImmutable() const {
    Option option = Immutable();
    option.is_own = true;
    return option;
  }
  constexpr Option Own() const {
    Option option = *this;
    option.is_own = true;
    return option;
  }
  constexpr Option Protected() const {
    Option option = *this;
    option.is_protected = true;
    return option;
  }
  constexpr Option Hidden() const {
    Option option = *this;
    option.hidden = true;
    return option;
  }
  constexpr Option Secret() const {
    Option option = *this;
    option.secret = true;
    return option;
  }
  constexpr Option Hosted() const {
    Option option = *this;
    option.hosted = true;
    return option;
  }
  constexpr Option NeedsData() const {
    Option option = *this;
    option.needs_data = true;
    return option;
  }
  // The value is the name of a file, whose content counts.
  constexpr Option Reloads() const {
    Option option = *this;
    option.reloads = true;
    return option;
  }
  constexpr bool is_list() const { return shape.kind == OptionShape::Kind::kList; }
};

constexpr Option Served(std::string_view name, Option::Field field, OptionShape shape,
                        std::string_view doc) {
  return {.name = name, .shape = shape, .field = field, .doc = doc};
}
constexpr Option Refused(std::string_view name, std::string_view value, OptionShape shape,
                         std::string_view why) {
  return {
      .name = name, .stance = Option::Stance::kRefused, .shape = shape, .value = value, .doc = why};
}
constexpr Option NoEffect(std::string_view name, std::string_view value, OptionShape shape,
                          std::string_view why) {
  return {.name = name,
          .stance = Option::Stance::kNoEffect,
          .shape = shape,
          .value = value,
          .doc = why};
}

std::span<const Option> ServedOptions();
std::span<const Option> UnservedOptions();
// Both, in the order in which Config numbers them.
const Option& OptionAt(size_t index);
size_t OptionCount();
// By name or alias, in any case; OptionCount() when unknown.
size_t FindOption(std::string_view name);

// Lines of a config file that are no options: their meaning depends on the commands.
struct CommandDirective {
  std::string_view name;
  size_t words_min;
  size_t words_max;
};
std::span<const CommandDirective> CommandDirectives();
// And what Sluice does not take, and why.
struct RefusedDirective {
  std::string_view name;
  std::string_view why;
};
std::span<const RefusedDirective> RefusedDirectives();
// Directives that Redis itself ignores.
std::span<const std::string_view> IgnoredDirectives();
// All that a line of a file may begin with and be taken.
std::vector<std::string_view> DirectiveNames();

}  // namespace sluice
