// See replica_turns.h.
#include "server/replication/replica_turns.h"

#include <algorithm>

namespace sluice {

void ReplicaTurns::NoteEnd() {
  if (stream_.told() == noted_) return;
  noted_ = stream_.told();
  noted_end_ = noted_;
}

bool ReplicaTurns::EndTurn(uint64_t turn, const TurnNeeds&) {
  NoteEnd();
  if (const std::optional<int64_t> end = std::exchange(noted_end_, std::nullopt)) {
    turns_.push_back({turn, *end});
    if (turns_.size() > kTurnsMax) MergeNeighbours();
  }
  return false;  // nothing waits for it
}

// The later one of each pair stands for both.
void ReplicaTurns::MergeNeighbours() {
  size_t kept = 0;
  for (size_t i = 1; i < turns_.size(); i += 2) turns_[kept++] = turns_[i];
  if (turns_.size() % 2 != 0) turns_[kept++] = turns_.back();
  turns_.resize(kept);
}

uint64_t ReplicaTurns::TurnAt(int64_t offset) const {
  const auto behind = std::ranges::upper_bound(turns_, offset, {}, &Turn::end);
  if (behind != turns_.begin()) return std::prev(behind)->turn;
  return offset >= before_.end ? before_.turn : kFirstTurn;
}

uint64_t ReplicaTurns::TurnOf(int64_t offset, uint64_t so_far) const {
  if (offset > noted_) return so_far;
  if (offset <= 0) return kFirstTurn;
  if (offset <= before_.end || turns_.empty()) return before_.turn;
  // Behind the last turn are words of the server itself.
  const auto with = std::ranges::lower_bound(turns_, offset, {}, &Turn::end);
  return with == turns_.end() ? turns_.back().turn : with->turn;
}

void ReplicaTurns::Forget(int64_t offset) {
  for (; !turns_.empty() && turns_.front().end <= offset; turns_.pop_front())
    before_ = turns_.front();
}

void ReplicaTurns::Restart(uint64_t turn) {
  turns_.clear();
  noted_ = stream_.told();
  noted_end_.reset();
  before_ = {turn, noted_};
}

}  // namespace sluice
