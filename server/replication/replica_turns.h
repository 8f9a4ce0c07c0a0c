// ReplicaTurns: which turn reaches to which offset of the stream, for those who wait until replicas
// have a turn (WAIT), while replicas count in offsets.
//
// It is a promise that keeps all at once: an answer does not wait for replicas. What they have all
// acknowledged is forgotten. Where one lags for long, neighbours become one, and a turn counts as
// had with the later of them: so the memory is bounded, and no turn is said to be had too early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "server/commit/turn_gate.h"
#include "server/replication/replication_stream.h"

namespace sluice {

class ReplicaTurns final : public TurnPromise {
 public:
  static constexpr size_t kTurnsMax = 8192;
  // The state that a replica begins with: there is no turn before.
  static constexpr uint64_t kFirstTurn = TurnGate::kNoTurn + 1;

  // `gather`: before a turn is numbered, to bring what it has told so far into the stream.
  ReplicaTurns(const ReplicationStream& stream, std::function<void()> gather)
      : stream_(stream), gather_(std::move(gather)) {}

  // The last turn of which a replica that has acknowledged `offset` has everything. O(log turns).
  uint64_t TurnAt(int64_t offset) const;
  // The turn that a replica has to have in order to have the stream up to `offset`, or one behind
  // it. `so_far`: the number of this turn. O(log turns).
  uint64_t TurnOf(int64_t offset, uint64_t so_far) const;
  // Every replica has the stream up to here. O(turns that go).
  void Forget(int64_t offset);
  // From this turn on; those before it count as had by all.
  void Restart(uint64_t turn);
  // The running turn ends here in the stream, before the words of the server itself: replicas
  // acknowledge what they have when they read GETACK, and not GETACK.
  void NoteEnd();
  void PassOverOwnWords() { noted_ = stream_.told(); }

  // --- TurnPromise
  void Gather() override { gather_(); }
  bool HasNews() const override { return noted_end_ || stream_.told() > noted_; }
  bool EndTurn(uint64_t turn, const TurnNeeds& needs) override;
  uint64_t kept() const override { return UINT64_MAX; }
  bool has_failed() const override { return false; }

 private:
  struct Turn {
    uint64_t turn;
    int64_t end;  // of the stream, behind it
  };
  void MergeNeighbours();

  const ReplicationStream& stream_;
  const std::function<void()> gather_;
  int64_t noted_ = 0;                 // up to here turns are numbered, or have an end:
  std::optional<int64_t> noted_end_;  // of the running one
  Turn before_{kFirstTurn, 0};        // the last turn that was forgotten
  std::deque<Turn> turns_;
};

}  // namespace sluice
