// ReplicationStream: the one stream of bytes for all replicas. It is open while there is a backlog,
// which begins with the first replica: before, and after it has been closed, no effect is encoded
// for it and it costs nothing.
//
//   effects → StreamSink → (end of a turn) → Backlog → BacklogReader of each replica
//
// What the server itself says in it stands between two turns' effects, and never inside a group.
//
// A server that follows a master relays that one's stream: its bytes come as they are (Relay), and
// neither its own effects nor its own words are part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/core/turn_clock.h"
#include "server/dispatch/effects/effects.h"
#include "server/replication/backlog.h"
#include "server/replication/stream_sink.h"
#include "storage/log/stream_position.h"

namespace sluice {

struct ReservedEnvelope;

class ReplicationStream {
 public:
  // All outlive it.
  ReplicationStream(Effects& effects, const TurnClock& clock, const CommandTable& commands)
      : effects_(effects), clock_(clock), sink_(clock, commands) {}
  ~ReplicationStream() { Close(); }
  ReplicationStream(const ReplicationStream&) = delete;
  ReplicationStream& operator=(const ReplicationStream&) = delete;

  // From here on effects are part of it, or relayed bytes. Requires: it is closed, and the running
  // command, if any, has nothing half told (Effects::TellSoFar).
  void Open(size_t backlog_size);
  // Its end stays, the bytes go. Requires: the backlog has no readers, and as Open.
  void Close();
  bool is_open() const { return backlog_.has_value(); }

  // It is another server's from here on, or this one's, which then begins with database and clock.
  // Requires: as Open.
  void SetRelayed(bool on);
  bool is_relayed() const { return is_relayed_; }
  // The next bytes of the other's. Requires: it is open and relayed.
  void Relay(std::string_view bytes) { backlog_->Append(bytes); }

  // The offset of its last byte, that of the effects of this turn left out; 0: there was none. Not
  // below what it was, but for the history of another master.
  int64_t end() const { return backlog_ ? backlog_->end() : end_; }
  // The same with them, but for a group that is not told in full.
  int64_t told() const { return end() + static_cast<int64_t>(sink_.ready()); }
  // Where it goes on. Requires: it is closed, end >= 0.
  void set_end(int64_t end) { end_ = end; }
  // Null while it is closed.
  Backlog* backlog() { return backlog_ ? &*backlog_ : nullptr; }
  const Backlog* backlog() const { return backlog_ ? &*backlog_ : nullptr; }

  // The effects of this turn become bytes of the backlog, but for a group that is not told in full.
  void EndTurn();
  // A full sync begins at end(): its replica knows of no database and no clock. Requires: EndTurn
  // has been called in this turn.
  void BeginFullSync() { sink_.Restart(); }

  // How what follows is to be read, of a stream that is this server's own. Requires: EndTurn has
  // been called in this turn.
  StreamReading reading() const;

  // --- what the server says; nothing in a stream that is relayed. All require: is_open().
  void Ping();                 // every repl-ping-replica-period; in lower case, as Redis does
  void AskForAcks();           // REPLCONF GETACK *
  void TellTime();             // the heartbeat to Sluices
  void TellWords(Args words);  // any, as a request
  void TellReserved(const ReservedEnvelope& what);  // what is reserved ahead for locks

  // Effects so far that only a Sluice understands.
  uint64_t effects_for_sluice() const { return sink_.effects_for_sluice(); }
  size_t memory() const { return sink_.memory() + (backlog_ ? backlog_->memory() : 0); }

 private:
  void Say(std::string_view bytes);

  Effects& effects_;
  const TurnClock& clock_;
  StreamSink sink_;
  std::optional<Backlog> backlog_;
  int64_t end_ = 0;  // while it is closed
  bool is_relayed_ = false;
};

}  // namespace sluice
