// See faults.h.
#include "server/test_double/faults.h"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/text/concat.h"
#include "storage/hashing/key_slot.h"

namespace sluice {

// A request to be matched; its keys are looked for when a rule first asks for them.
struct Faults::Candidate {
  const Session& session;
  const RequestHook::Arrival& arrival;
  bool has_keys = false;  // they were looked for
  std::vector<std::string_view> keys;
  size_t compared = 0;
};

uint64_t Faults::Add(uint64_t client, Args words, std::string& fault) {
  if (rules_.size() >= kRulesMax) {
    fault = Concat("ERR there are ", kRulesMax, " rules already");
    return 0;
  }
  FaultRule rule;
  fault = rule.Read(words, commands_);
  if (!fault.empty()) return 0;
  rule.id = ++last_id_;
  rule.owner = client;
  ++owners_[client];
  IdsFor(rule.command).push_back(rule.id);
  rules_.emplace(rule.id, std::move(rule));
  return last_id_;
}

bool Faults::Delete(uint64_t id) {
  const auto found = rules_.find(id);
  if (found == rules_.end()) return false;
  const FaultRule& rule = found->second;
  Ids& ids = IdsFor(rule.command);
  ids.erase(std::ranges::lower_bound(ids, id));
  if (rule.command && ids.empty()) of_command_.erase(rule.command);
  const auto owner = owners_.find(rule.owner);
  if (--owner->second == 0) owners_.erase(owner);
  rules_.erase(found);
  return true;
}

size_t Faults::Clear() {
  of_all_.clear();
  of_command_.clear();
  owners_.clear();
  return std::exchange(rules_, {}).size();
}

const FaultRule* Faults::Hit(const Session& session, const RequestHook::Arrival& arrival,
                             std::string& text) {
  if (rules_.empty() || owners_.contains(session.client_id)) return nullptr;
  // Rules for all commands, for this one and for its container, each list in the order of ids.
  std::array<std::pair<const Ids*, size_t>, 3> lists{{{&of_all_, 0}, {}, {}}};
  size_t count = 1;
  for (const Command* row = arrival.command; row && count < lists.size(); row = row->container) {
    const auto found = of_command_.find(row);
    if (found != of_command_.end()) lists[count++] = {&found->second, 0};
  }
  Candidate candidate{.session = session, .arrival = arrival, .keys = {}};
  while (true) {
    std::pair<const Ids*, size_t>* next = nullptr;
    for (size_t i = 0; i < count; ++i) {
      auto& list = lists[i];
      if (list.second == list.first->size()) continue;
      if (!next || (*list.first)[list.second] < (*next->first)[next->second]) next = &list;
    }
    if (!next) return nullptr;
    FaultRule& rule = rules_.find((*next->first)[next->second++])->second;
    if (!Matches(rule, candidate) || !Decides(rule)) continue;
    text = rule.action.text;
    if (rule.action.names_slot)
      text.insert(text.find(' '), Concat(" ", SlotOfKey(candidate.keys.front())));
    return &rule;
  }
}

bool Faults::Matches(const FaultRule& rule, Candidate& candidate) const {
  if (!rule.TimesLeft()) return false;
  if (!rule.MayMatch(candidate.session, candidate.arrival.words.size())) return false;
  if (!rule.key && !rule.action.names_slot) return true;
  if (!std::exchange(candidate.has_keys, true)) NoteKeys(candidate);
  return rule.key ? KeyMatches(rule, candidate) : !candidate.keys.empty();
}

// A stranger to the rule's command may have a million keys.
bool Faults::KeyMatches(const FaultRule& rule, Candidate& candidate) {
  for (const std::string_view key : candidate.keys) {
    candidate.compared += key.size() + 16;
    if (candidate.compared > kComparedMax) return false;
    if (rule.key->Matches(key)) return true;
  }
  return false;
}

// NTH, PROB and TIMES, of a request for which all else holds.
bool Faults::Decides(FaultRule& rule) {
  ++rule.seen;
  if (rule.seen < rule.nth) return false;
  if (rule.probability) {
    const double drawn = static_cast<double>(random_() >> 11) * 0x1.0p-53;  // below 1
    if (drawn >= *rule.probability) return false;
  }
  ++rule.hits;
  return true;
}

// The keys of FENCED's command are its own, too. Words that are no request have none.
void Faults::NoteKeys(Candidate& candidate) {
  const Request* const request = candidate.arrival.request;
  if (!request) return;
  std::vector<KeyUse> keys;
  FindKeys(*request, keys);
  for (const KeyUse& key : keys) {
    candidate.keys.push_back(request->args[static_cast<size_t>(key.position)]);
  }
}

}  // namespace sluice
