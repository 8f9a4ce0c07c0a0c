// The arguments of a command as a tree, read from CommandSpec::usage. COMMAND DOCS shows it, and
// redis-cli builds its hints from that.
//
//   usage     = sequence { "|" sequence }
//   sequence  = { item [ "@" version | "@-" version ] } [ "..." ]
//   item      = word | [ name "=" ] ( "[" usage "]" | "<" usage ">" )
//   word      = name [ ":" type [ "(" range ")" ] ] | [ name "=" ] TOKEN
//
// WORDS in capitals and the signs of streams (* $ = ~) stand for themselves, others for values: the
// values behind a WORD belong to it.
// "[x]" may be left out. "key [key ...]", "[key ...]" and "[key [key ...]]" may be repeated. Where
// the first of several alternatives begins with two WORDS, the first of these introduces them all:
// "[OVERFLOW WRAP | SAT | FAIL]". A part in brackets is named after what it holds, unless it has a
// name of its own before it; and then it is a block even of one item. "@6.2.0" says since when the
// item before it is there, "@-6.2.0" since when it is deprecated. A range is of the numbers, or of
// the bytes of a string, and both its ends belong to it.
//
//   "key value [NX | XX] [EX seconds | KEEPTTL]"
//     key, value, optional oneof (nx, xx), optional oneof (seconds with the token EX, keepttl)
//   "key increment:double index=[start end unit=[BYTE | BIT]@7.0.0]"
//     key, increment, optional block index (start, end, optional oneof unit (byte, bit))
//   "key owner:string(1..1024) [LEASE lease-ms:integer(1..2^46)]"
//
// RowsAreSound sees to it that the lines of all tables follow it (server/dispatch/usage_words.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/dispatch/command.h"

namespace sluice {

// The types of COMMAND DOCS, in the order of their names in UsageTypeName.
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
// "unix-time", "pure-token", "oneof": as Redis spells them.
std::string_view UsageTypeName(UsageType type);

// An argument, or several in a block or a choice.
struct UsageNode {
  std::string name;
  UsageType type = UsageType::kString;
  std::string_view token;             // a view into the usage; empty: none
  std::string_view range;             // "1..2^46", a view as well
  std::string_view since;             // views into the usage, too; empty: as the command
  std::string_view deprecated_since;  // empty: it is not
  int key_spec_index = -1;            // of a key: which of the row's key specs finds it
  bool optional = false;
  bool multiple = false;
  bool multiple_token = false;      // the token is repeated too
  std::vector<UsageNode> children;  // of kOneOf and kBlock
};

// Parses a usage line; the nodes hold views into it. Requires: UsageIsSound(usage).
std::vector<UsageNode> ParseUsage(std::string_view usage, const KeySpecs& keys = {});
inline std::vector<UsageNode> ParseUsage(const CommandSpec& spec) {
  return ParseUsage(spec.Read(spec.usage), spec.keys);
}

}  // namespace sluice
