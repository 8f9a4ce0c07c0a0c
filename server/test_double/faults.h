// Faults: the rules of SLUICE.FAULT, and which of them hits a request.
//
// Rules are tried in the order of their ids; the first whose conditions hold, and whose NTH, PROB
// and TIMES say yes, hits. Rules behind it do not see the request. Rules for other commands are not
// looked at, and of keys a request has only so many bytes compared (kComparedMax), so that
// thousands of rules cost a bounded time.
//
// A connection that has added a rule which is still there is never hit, by none of the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/dispatch/request_hook.h"
#include "server/test_double/fault_rule.h"
#include "storage/keyspace/segment_table.h"

namespace sluice {

class Faults {
 public:
  static constexpr size_t kRulesMax = 10'000;
  // Bytes of keys and patterns that are compared for one request; beyond them no rule with a KEY
  // matches.
  static constexpr size_t kComparedMax = 4 << 20;

  Faults(const CommandTable& commands, Random& random) : commands_(commands), random_(random) {}

  // `words`: those behind ADD. Its id, or 0 and a sentence in `fault`.
  uint64_t Add(uint64_t client, Args words, std::string& fault);
  bool Delete(uint64_t id);
  size_t Clear();
  // As after the start: no rules, and ids begin anew.
  void Reset() {
    Clear();
    last_id_ = 0;
  }
  bool empty() const { return rules_.empty(); }
  const std::map<uint64_t, FaultRule>& rules() const { return rules_; }

  // The rule that hits the request, counted as a hit of it, or null. `text`: of an error, the whole
  // line.
  const FaultRule* Hit(const Session& session, const RequestHook::Arrival& arrival,
                       std::string& text);

 private:
  struct Candidate;
  using Ids = std::vector<uint64_t>;  // ascending

  Ids& IdsFor(const Command* command) { return command ? of_command_[command] : of_all_; }
  bool Matches(const FaultRule& rule, Candidate& candidate) const;
  bool Decides(FaultRule& rule);
  static bool KeyMatches(const FaultRule& rule, Candidate& candidate);
  static void NoteKeys(Candidate& candidate);

  const CommandTable& commands_;
  Random& random_;
  std::map<uint64_t, FaultRule> rules_;  // by id
  Ids of_all_;
  absl::flat_hash_map<const Command*, Ids> of_command_;
  absl::flat_hash_map<uint64_t, size_t> owners_;  // client: its rules
  uint64_t last_id_ = 0;
};

}  // namespace sluice
