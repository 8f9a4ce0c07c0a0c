// The arguments of a command as a tree, read from CommandSpec::usage. COMMAND DOCS shows it, and
// redis-cli builds its hints from that.
//
//   usage     = sequence { "|" sequence }
//   sequence  = { item } [ "..." ]
//   item      = word | "[" usage "]" | "<" usage ">"
//
// WORDS in capitals stand for themselves, others for values: the values behind a WORD belong to it.
// "[x]" may be left out. "key [key ...]", "[key ...]" and "[key [key ...]]" may be repeated. Where
// the first of several alternatives begins with two WORDS, the first of these introduces them all:
// "[OVERFLOW WRAP | SAT | FAIL]".
//
//   "key value [NX | XX] [EX seconds | KEEPTTL]"
//     key, value, optional oneof (nx, xx), optional oneof (seconds with the token EX, keepttl)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/command.h"

namespace sluice {

enum class UsageType : uint8_t {
  kString,
  kInteger,
  kDouble,
  kKey,
  kPattern,
  kUnixTime,
  kPureToken,
  kOneOf,
  kBlock
};
std::string_view UsageTypeName(UsageType type);

struct UsageNode {
  std::string name;
  UsageType type = UsageType::kString;
  std::string_view token;   // a view into the usage; empty: none
  int key_spec_index = -1;  // of a key: which of the row's key specs finds it
  bool optional = false;
  bool multiple = false;
  bool multiple_token = false;      // the token is repeated too
  std::vector<UsageNode> children;  // of kOneOf and kBlock
};

// Usage is ours, not a client's: what does not follow the grammar is taken for words.
std::vector<UsageNode> ParseUsage(const CommandSpec& spec);

}  // namespace sluice
