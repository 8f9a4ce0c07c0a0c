// See replication_stream.h.
#include "server/replication/replication_stream.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "protocol/request_writer.h"
#include "server/replication/envelope.h"

namespace sluice {

void ReplicationStream::Open(size_t backlog_size) {
  assert(!is_open());
  backlog_.emplace(backlog_size, end_);
  sink_.Restart();
  if (!is_relayed_) effects_.set_sink(kToStream, &sink_);
}

void ReplicationStream::SetRelayed(bool on) {
  if (on == is_relayed_) return;
  EndTurn();
  is_relayed_ = on;
  if (!is_open()) return;
  sink_.Restart();
  effects_.set_sink(kToStream, on ? nullptr : &sink_);
}

void ReplicationStream::Close() {
  if (!is_open()) return;
  EndTurn();
  effects_.set_sink(kToStream, nullptr);
  end_ = backlog_->end();
  backlog_.reset();
}

void ReplicationStream::EndTurn() {
  if (!is_open()) return;
  sink_.Take([this](std::string_view bytes) { backlog_->Append(bytes); });
}

StreamReading ReplicationStream::reading() const {
  StreamReading reading{.kind = StreamKind::kOfSluice, .db = std::max(sink_.selected(), 0)};
  if (sink_.noted_clock()) reading.unix_offset_ms = sink_.noted_clock()->unix_offset_ms;
  reading.told_ms = clock_.now().ms();
  return reading;
}

// Behind what this turn has told so far, as a replica that acknowledges it has all of that.
void ReplicationStream::Say(std::string_view bytes) {
  assert(is_open());
  if (is_relayed_) return;
  EndTurn();
  backlog_->Append(bytes);
}

void ReplicationStream::Ping() { Say("*1\r\n$4\r\nping\r\n"); }

void ReplicationStream::TellWords(Args words) {
  std::string bytes;
  AppendRequest(bytes, words);
  Say(bytes);
}

void ReplicationStream::AskForAcks() {
  const std::string_view words[] = {"REPLCONF", "GETACK", "*"};
  TellWords(words);
}

void ReplicationStream::TellTime() {
  std::string bytes;
  AppendTimeEnvelope(bytes, clock_.now().ms());
  Say(bytes);
}

void ReplicationStream::TellReserved(const ReservedEnvelope& what) {
  std::string bytes;
  AppendReservedEnvelope(bytes, what);
  Say(bytes);
}

}  // namespace sluice
