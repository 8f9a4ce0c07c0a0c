// FaultRule: which requests a fault is for, and what happens to them, as SLUICE.FAULT ADD has it:
//
//   [COMMAND name [sub]] [KEY glob] [CLIENT id | NAME glob] [ARGS n] [NTH n | PROB p] [TIMES n]
//   [BEFORE | AFTER] <one action>
//
// All conditions that are given must hold. NTH n: the n-th request for which they do, and no other;
// with TIMES t that one and the t - 1 behind it. The actions TRUNCATE and SPLIT are about an
// answer, so they are AFTER without being told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "protocol/text/glob.h"
#include "server/clients/session.h"
#include "server/dispatch/command_table.h"

namespace sluice {

struct FaultAction {
  enum class Kind : uint8_t {
    kNone,
    kError,     // `text` is the answer; a state, MOVED and ASK are errors, too
    kDelay,     // by `ms`
    kClose,     // the connection, without an answer
    kDrop,      // the answer
    kTruncate,  // the answer after `bytes`, and the connection is closed
    kHang,      // until the rule is gone
    kSplit,     // the answer into writes of a byte
    kFailover,  // all connections are closed, and tokens jump
  };
  Kind kind = Kind::kNone;
  bool after = false;     // the request is executed
  bool is_state = false;  // kError: EXEC is told of it as Redis tells it
  // kError: what stands between the code and the rest is the slot of the first key.
  bool names_slot = false;
  std::string text;
  int64_t ms = 0;
  bool real = false;  // kDelay: of real time, not of the double's clock
  size_t bytes = 0;
};

struct FaultRule {
  // Patterns are no longer, so that a match of them is cheap.
  static constexpr size_t kGlobBytesMax = 256;
  static constexpr size_t kTextBytesMax = 4096;

  // Reads the words behind ADD. A sentence what is wrong with them, or empty.
  Fault Read(Args words, const CommandTable& commands);

  // Whether the connection and its request match, keys and chance aside.
  bool MayMatch(const Session& session, size_t words) const;
  bool TimesLeft() const { return times == 0 || hits < times; }

  uint64_t id = 0;
  uint64_t owner = 0;  // the client that has added it
  // Null: all commands. A container: all its subcommands.
  const Command* command = nullptr;
  std::optional<Glob> key;
  std::optional<Glob> name;
  std::optional<uint64_t> client;
  std::optional<size_t> words;  // the command's own included
  uint64_t nth = 0;             // 0: each
  uint64_t times = 0;           // 0: without end
  std::optional<double> probability;
  FaultAction action;
  std::vector<std::string> canonical;  // words that make the same rule

  uint64_t seen = 0;  // requests for which its conditions held
  uint64_t hits = 0;
};

}  // namespace sluice
