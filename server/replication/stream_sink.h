// StreamSink: effects for replicas, as the bytes of the one stream that all of them get: SELECT,
// commands, MULTI … EXEC around what is one. A redis-server 7.0 understands every command in it.
//
//   effect                          stream
//   SET k v PXAT t, relative        SET k v PXAT t
//   SET k v PXAT t, absolute        PING <A>, SET k v PXAT t
//   HPEXPIREAT h t FIELDS 1 f       PING <E: HPEXPIREAT h t FIELDS 1 f>       its row is
//   kNotInRedis70 RENAME a b, of a limiter        PING <E: RENAME a b> EffectForSluice the first,
//   or the clock moved   PING <C: the clock>, and then it
//
// An effect that has a 7.0 spelling is told in it by its handler (MSETEX as SETs): see envelope.h
// for the others. A command goes under the name that it has by itself, whatever the clients of this
// server have to call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/turn_clock.h"
#include "server/dispatch/effects/effects.h"
#include "storage/log/turn_writer.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {

class CommandTable;
struct Command;

// Bytes are gathered here until Take: a turn's, so that the backlog gets them at once, and those of
// a group until it ends, as nothing else may stand inside one.
class StreamSink final : public EffectSink {
 public:
  // Both outlive it.
  StreamSink(const TurnClock& clock, const CommandTable& commands)
      : clock_(clock), commands_(commands) {}

  void Effect(int db, Args command, EffectTime time) override;
  void EffectForSluice(int db, Args command, EffectTime time) override;
  void GroupBegin() override;
  void GroupEnd() override;

  // Gives what may be sent to `take(std::string_view)`, and forgets it. An open group stays.
  template <typename Taker>
  void Take(const Taker& take) {
    const size_t size = ready();
    if (size == 0) return;
    take(std::string_view(bytes_).substr(0, size));
    Drop(size);
  }
  // A reader begins here that knows of nothing before: database and clock are said anew. Requires:
  // nothing is ready.
  void Restart() {
    selected_ = kNoDb;
    noted_clock_.reset();
  }
  // A reader that has everything knows these; kNoDb and none: it is about to be told.
  static constexpr int kNoDb = -1;
  int selected() const { return selected_; }
  const std::optional<LogClock>& noted_clock() const { return noted_clock_; }
  // Bytes that may be sent.
  size_t ready() const { return open_group_at_ == kNoGroup ? bytes_.size() : open_group_at_; }
  // Effects so far that a redis-server does not understand.
  uint64_t effects_for_sluice() const { return effects_for_sluice_; }
  size_t memory() const { return HeapBytes(bytes_); }

 private:
  static constexpr size_t kNoGroup = SIZE_MAX;

  void Drop(size_t size);
  void Begin(int db, EffectTime time);
  void NoteClock();
  const Command* RowOf(Args words);
  void AppendUnderOwnName(const Command& row, Args command);
  void AppendForSluice(Args command);

  const TurnClock& clock_;
  const CommandTable& commands_;
  std::string last_name_;  // of last_row_, as it was spelled
  const Command* last_row_ = nullptr;
  std::string bytes_;
  size_t open_group_at_ = kNoGroup;
  int selected_ = kNoDb;
  std::optional<LogClock> noted_clock_;
  uint64_t effects_for_sluice_ = 0;
};

}  // namespace sluice
