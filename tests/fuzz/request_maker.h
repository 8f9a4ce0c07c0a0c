// RequestMaker: random requests made from the server's own command table, so that a new row is
// fuzzed from the day it is there. A row's usage line is its grammar: optional parts come or not,
// choices are taken at random, values are drawn by their names. A part of the requests is then
// broken: words lost, swapped, doubled, replaced by odd ones (limits of integers, nothing, NULs).
//
// Most runs draw mainly from a few rows, or those of a group or two: only so do they meet often
// enough on one key to build up what is rare.
//
// Keys are few and named by type, with strays, so that commands mostly meet values of their own
// type and sometimes others. What the server answered comes back as an argument (Learn): fencing
// tokens, cursors, dumps, hashes of scripts.
//
// Sizes stay within a bound: what one request makes is some megabytes at the most, given a server
// with proto-max-bulk-len 1mb. Kept out is what ends or slows a server by its purpose; each such
// word stands in a table in request_maker.cc with its reason.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_reader.h"
#include "server/commands/admin/usage_grammar.h"
#include "server/dispatch/command_table.h"

namespace sluice {

using FuzzRandom = std::mt19937_64;
using FuzzRequest = std::vector<std::string>;

class RequestMaker {
 public:
  explicit RequestMaker(const CommandTable& table);

  // Forgets what was learned: from here on, what is made depends on the seed and on Learn alone.
  void Begin(uint64_t seed);
  // One to a dozen requests that belong together: a command, one inside EVAL or FENCED, MULTI with
  // commands and EXEC.
  std::vector<FuzzRequest> Make();
  void Learn(const Reply& reply);
  FuzzRandom& random() { return random_; }
  // A whole number in [low, high], and whether something happens that does so `percent` in 100.
  int64_t Between(int64_t low, int64_t high);
  bool Chance(int percent) { return Between(0, 99) < percent; }

 private:
  struct Row {
    const Command* command;
    FuzzRequest words;  // the name, with its container's
    std::vector<UsageNode> usage;
    FuzzRequest tokens;  // the words of its grammar: what a value may look like
  };

  void AddRow(const Command& command);
  void PickFocus();
  const Row& PickRow();
  FuzzRequest MakeOne();
  FuzzRequest MakeDebug();
  FuzzRequest MakeConfigSet();
  FuzzRequest InScript(FuzzRequest inner);
  FuzzRequest InFenced(FuzzRequest inner);
  void Sequence(const std::vector<UsageNode>& nodes, FuzzRequest& out);
  // How often it was repeated.
  int Node(const UsageNode& node, FuzzRequest& out);
  void Once(const UsageNode& node, bool with_token, FuzzRequest& out);
  std::string Value(const UsageNode& node);
  std::string Key();
  std::string Integer(std::string_view name);
  bool IsOf(std::string_view name) const;
  std::string Double();
  std::string UnixTime(std::string_view name);
  std::string Text(std::string_view name);
  std::string Odd();
  void Break(FuzzRequest& request);
  template <typename List>
  std::string OneOf(const List& list) {
    return std::string(
        list[static_cast<size_t>(Between(0, static_cast<int64_t>(std::size(list)) - 1))]);
  }

  std::vector<Row> rows_;
  std::vector<Row> rare_;  // those that undo what all others have built up
  FuzzRandom random_;
  std::vector<const Row*> focus_;            // of this run; empty: all alike
  const Row* row_ = nullptr;                 // being made
  int64_t keys_ = 3;                         // of each type, in this run
  std::deque<std::string> numbers_, texts_;  // learned
};

}  // namespace sluice
