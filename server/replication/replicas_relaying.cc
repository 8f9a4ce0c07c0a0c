// The stream and the replicas of a server that follows a master itself, for replicas.h. Ids,
// offsets and bytes are that one's; the rules of who has to come again are Redis's: replicas of
// another id are to hear of the new one, those of lost data need all of them.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "server/core/planted_faults.h"
#include "server/replication/replicas.h"

namespace sluice {

void Replicas::BeginRelaying() {
  if (stream_.is_relayed()) return;
  on_.effects.TellSoFar();
  if (stream_.is_open()) {
    TakeFromStream();
    NoteReading(stream_.reading());
  }
  stream_.SetRelayed(true);
  witness_.Restart();
}

void Replicas::AdoptHistory(const std::optional<ReplicationId>& id, int64_t offset) {
  DropAll();
  if (stream_.is_open()) CloseStream();
  if (!IsPlanted(PlantedFault::kFullSyncKeepsId)) ids_.Replace(id ? *id : NewId(on_.host));
  stream_.set_end(offset);
  reading_.reset();
  OpenStream();
}

void Replicas::GoOnAs(const ReplicationId& id) {
  if (id != ids_.id()) {
    ids_.Part(id, stream_.end());
    Log(LogLevel::kWarning, Concat("Master replication ID changed to ", id.text()));
    DropAll();
  }
  if (!stream_.is_open()) OpenStream();
}

void Replicas::Relay(std::string_view bytes, const StreamReading& reading) {
  NoteReading(reading);
  stream_.Relay(bytes);
}

void Replicas::NoteReading(const StreamReading& reading) {
  if (!reading_ || reading_->kind != reading.kind) kind_since_ = stream_.end() + 1;
  reading_ = reading;
}

StreamOrigin Replicas::origin() const {
  if (!stream_.is_relayed())
    return {StreamKind::kOfSluice, std::max<int64_t>(ids_.second_end(), 0)};
  return {reading_ ? reading_->kind : StreamKind::kOfRedis, kind_since_};
}

void Replicas::EndRelaying() {
  if (!stream_.is_relayed()) return;
  ids_.Part(NewId(on_.host), stream_.end());
  Log(LogLevel::kWarning, Concat("Setting secondary replication ID to ", ids_.second().text(),
                                 ", valid up to offset: ", ids_.second_end(),
                                 ". New replication ID is ", ids_.id().text()));
  DropAll();
  reading_.reset();
  on_.effects.TellSoFar();
  stream_.SetRelayed(false);
}

void Replicas::CloseStream() {
  witness_.Restart();
  on_.turn_gate.Remove(turns_);
  stream_.Close();
  on_.state.stream.reset();
}

// They go with the turn, and what they keep of the backlog now.
void Replicas::DropAll() {
  ForEach([this](Session& session, Replica& replica) {
    replica.place.reset();
    replica.image.reset();
    on_.clients.Close(session, CloseMode::kNow);
  });
}

}  // namespace sluice
