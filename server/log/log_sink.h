// LogSink: effects for the append-only log, as the bytes of its turn. Beside the commands these are
// notes of the file's own (TurnWriter): the clock by which they are meant, and which deadlines are
// relative. No other reader of effects knows such lines: each target has a sink, which encodes for
// it.
#pragma once

#include "server/core/log_clock.h"
#include "server/dispatch/effects/effects.h"
#include "storage/log/turn_writer.h"

namespace sluice {

class LogSink final : public EffectSink {
 public:
  // Both outlive it.
  LogSink(const TurnClock& clock, TurnWriter& turn) : clock_(clock), turn_(turn) {}

  void Effect(int db, Args command, EffectTime time) override {
    turn_.set_clock(LogClockOf(clock_));
    turn_.Effect(db, command, time == EffectTime::kRelative);
  }
  void GroupBegin() override {
    turn_.set_clock(LogClockOf(clock_));
    turn_.GroupBegin();
  }
  void GroupEnd() override { turn_.GroupEnd(); }

 private:
  const TurnClock& clock_;
  TurnWriter& turn_;
};

}  // namespace sluice
