// See replica_witness.h.
#include "server/replication/replica_witness.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace sluice {

void ReplicaWitness::SetFollowed(bool on) {
  is_followed_ = on;
  on_.horizon.set_followed(on);
}

void ReplicaWitness::See(const std::vector<Replica*>& sluices, bool any_greeted) {
  online_ = sluices.size();
  SetFollowed(online_ > 0 || any_greeted);
  Admit(sluices);
  NoteAcks(sluices);
}

// Where the others believe that grants wait for all of them, a newcomer counts behind their
// acknowledgements of the word that it is not so.
void ReplicaWitness::Admit(const std::vector<Replica*>& sluices) {
  const bool is_wanted_complete = Wanted().is_complete;
  const bool is_known = std::ranges::all_of(sluices, [this](const Replica* replica) {
    return !replica->is_admitted || replica->acked >= partial_end_;
  });
  const bool may_join = is_wanted_complete || (is_told_ && !told_.is_complete && is_known);
  for (Replica* const replica : sluices) replica->is_admitted |= replica->has_acked && may_join;
}

void ReplicaWitness::NoteAcks(const std::vector<Replica*>& sluices) {
  const int64_t wanted = on_.settings.lock_min_replicas;
  if (wanted > counted_for_) on_.reservation.ReplicasHaveNothing();
  counted_for_ = wanted;
  if (wanted == 0 || !is_told_) return;
  const auto have = std::ranges::count_if(sluices, [this](const Replica* replica) {
    const bool has_word = replica->mark_end > 0 && replica->acked >= replica->mark_end;
    return replica->is_admitted && (has_word || replica->greeted_mark == told_.mark);
  });
  if (have >= wanted) on_.reservation.ReplicasHave(told_.mark);
}

ReplicaWitness::Told ReplicaWitness::Wanted() const {
  const int64_t wanted = on_.settings.lock_min_replicas;
  return {.mark = on_.reservation.MarkForReplicas(),
          .horizon_ms = on_.horizon.wanted_by_replicas_ms(),
          .is_complete = wanted > 0 && online_ <= static_cast<size_t>(wanted)};
}

bool ReplicaWitness::HasNews() const { return is_followed_ && (!is_told_ || told_ != Wanted()); }

ReservedEnvelope ReplicaWitness::WordsOf(const Told& told) const {
  return {.token_mark = told.mark,
          .horizon_ms = std::max<int64_t>(0, told.horizon_ms - on_.clock.now().ms()),
          .complete_at = told.is_complete ? std::optional(on_.id) : std::nullopt};
}

std::optional<ReservedEnvelope> ReplicaWitness::Greet(Replica& replica) {
  // That grants are complete is true behind all that the stream has said before, and never here.
  if (on_.settings.lock_min_replicas > 0) return std::nullopt;
  const Told wanted = Wanted();
  if (!is_followed_) {
    told_ = wanted;
    is_told_ = true;
    SetFollowed(true);
  }
  replica.greeted_mark = wanted.mark;
  return WordsOf(wanted);
}

void ReplicaWitness::Tell(const std::vector<Replica*>& sluices) {
  const Told wanted = Wanted();
  const bool was_complete = told_.is_complete;  // to those who were there before one came, too
  on_.stream.TellReserved(WordsOf(wanted));
  // One that was told this mark before has it where it has acknowledged that.
  for (Replica* const replica : sluices) {
    if (wanted.mark != told_.mark || replica->mark_end == 0) replica->mark_end = on_.stream.end();
  }
  told_ = wanted;
  if (was_complete && !told_.is_complete) partial_end_ = on_.stream.end();
  is_told_ = true;
}

void ReplicaWitness::Restart() {
  told_ = {};
  partial_end_ = 0;
  is_told_ = false;
  online_ = 0;
  SetFollowed(false);
}

}  // namespace sluice
