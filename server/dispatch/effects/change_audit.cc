// See change_audit.h. Keys are kept as hashes: two that collide could hide a fault, never make one.
#include "server/dispatch/effects/change_audit.h"

#include <algorithm>
#include <utility>

#include "storage/hashing/key_hash.h"

namespace sluice {
namespace {

// The database's number is the key of the hash, so one name in two databases is two keys.
uint64_t HashOf(int db, std::string_view key) {
  return HashName(key, SipKey{static_cast<uint64_t>(db)});
}

// A set is enough: how often a key was touched or told does not matter.
void Sort(std::vector<uint64_t>& hashes) {
  std::ranges::sort(hashes);
  const auto rest = std::unique(hashes.begin(), hashes.end());
  hashes.erase(rest, hashes.end());
}

}  // namespace

void ChangeAudit::NoteTouched(int db, std::string_view key) {
  if (running_ == 0) return;
  frames_[running_ - 1].touched.push_back(HashOf(db, key));
}

// The owner of the value tells of the change itself, so the handler need not.
void ChangeAudit::NoteTouchedByOwner() {
  if (running_ == 0) return;
  ++frames_[running_ - 1].changes_of_others;
}

// Outside of a command nothing is held against anything.
void ChangeAudit::NoteTold(int db, std::string_view key) {
  if (running_ > 0) frames_[running_ - 1].told.push_back(HashOf(db, key));
}

void ChangeAudit::NoteToldOfAll() {
  if (running_ > 0) frames_[running_ - 1].told_of_all = true;
}

// Names count whatever the database: a few commands reach over into another one.
void ChangeAudit::NoteLookedUp(std::string_view key) {
  if (running_ == 0 || !frames_[running_ - 1].looks_are_told) return;
  Frame& frame = frames_[running_ - 1];
  frame.strayed = frame.strayed || !std::ranges::binary_search(frame.may_look_up, HashOf(0, key));
}

void ChangeAudit::NoteMayLookUp(std::string_view key) {
  frames_[running_ - 1].may_look_up.push_back(HashOf(0, key));
}

void ChangeAudit::NoteMayLookUpTold() {
  frames_[running_ - 1].looks_are_told = true;
  Sort(frames_[running_ - 1].may_look_up);
}

// A frame a command: a script's own, and one for each command that it calls.
void ChangeAudit::Push(uint64_t changes) {
  if (running_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[running_++];
  frame.changes_before = changes;
  frame.changes_of_others = 0;
  frame.touched.clear();
  frame.told.clear();
  frame.told_of_all = false;
  frame.may_look_up.clear();
  frame.looks_are_told = false;
  frame.strayed = false;
}

// The changes of a command that has run others include theirs; each level hands its own up.
std::string_view ChangeAudit::Pop(uint64_t changes) {
  Frame& frame = frames_[--running_];
  const uint64_t made = changes - frame.changes_before;
  if (running_ > 0) frames_[running_ - 1].changes_of_others += made;
  return FaultOf(frame, made - frame.changes_of_others);
}

// `changes`: those that the command itself has made. A handler that has changed something may tell
// of more keys than it has touched.
std::string_view ChangeAudit::FaultOf(Frame& frame, uint64_t changes) {
  if (frame.strayed) return "looks for a key of which COMMAND GETKEYS does not tell";
  if (frame.told_of_all) return {};
  if (changes == 0) return frame.told.empty() ? "" : "says that a key has changed, and none has";
  if (frame.told.empty()) return "changes the keyspace and does not say so";
  Sort(frame.touched);
  Sort(frame.told);
  const bool all_told = std::ranges::includes(frame.told, frame.touched);
  return all_told ? "" : "changes a key of which it does not say so";
}

}  // namespace sluice
