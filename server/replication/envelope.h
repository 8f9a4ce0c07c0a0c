// Envelope: what a Sluice says in the stream that a redis-server does not understand. It travels as
// the argument of a PING, which Redis 7.0 and Valkey apply as nothing, inside MULTI too, and relay
// with equal offsets. So an envelope never costs a redis-server its transaction or its link.
//
//   PING "SLUICE1 E *3\r\n$8\r\nHPERSIST\r\n ..."   an effect, as a request, to the end
//   PING "SLUICE1 C <unix offset> <shift>"        the writer's clock from here on: see LogClock
//   PING "SLUICE1 A"                              the deadline in the next command is absolute
//   PING "SLUICE1 H <engine ms>"                  heartbeat: the writer's time, once a second while
//                                                 the stream gets longer, and with each PING
//   PING "SLUICE1 M <mark> <horizon ms>[ <run>]"  reserved ahead for locks: the mark is above all
//                                                 tokens, every lease ends within so many ms; a
//                                                 follower of the server with that run id itself
//                                                 has every grant before that is answered
//
// Deadlines in the stream are those of engine time, written as Unix times by the clock of C, as
// relative ones are the rule; A marks the others. An unknown letter is skipped: later writers may
// say more. An unknown version is a fault.
//
// Bytes come from a peer: ReadEnvelope takes any, in O(bytes), and an Envelope is what was checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "protocol/args.h"
#include "protocol/argument_list.h"
#include "protocol/text/fault.h"
#include "storage/log/stream_position.h"
#include "storage/log/turn_writer.h"

namespace sluice {

// The bounds of what a reader takes. The first is what a client's request may have in all
// (client-query-buffer-limit), as an effect is no longer; the last keeps sums of times from
// overflowing.
inline constexpr size_t kEnvelopeBytesMax = size_t{1} << 30;
inline constexpr int64_t kEnvelopeMsMax = kLogMomentMsMax;

// --- what an envelope says, checked

// The argument of an ordinary PING.
struct NoEnvelope {};
// Of a kind that this reader does not know.
struct UnknownEnvelope {
  char letter;
};
// The words of an effect, at least one; views of the envelope's bytes. It is no PING, so that none
// lies in another; whether it is a command, and one that a stream may hold, is for who runs it.
struct EffectEnvelope {
  ArgumentList words;
};
struct ClockEnvelope {
  LogClock clock;
};
struct AbsoluteEnvelope {};
struct TimeEnvelope {
  int64_t engine_ms;
};
struct ReservedEnvelope {
  int64_t token_mark;
  int64_t horizon_ms;
  std::optional<ReplicationId> complete_at = std::nullopt;  // a run id; they look alike
};
using Envelope = std::variant<NoEnvelope, UnknownEnvelope, EffectEnvelope, ClockEnvelope,
                              AbsoluteEnvelope, TimeEnvelope, ReservedEnvelope>;

// Reads the argument of a PING. None: there is a fault, and the link that brought it is of no use.
std::optional<Envelope> ReadEnvelope(std::string_view argument, Fault& fault);

// The words of a reservation, as ReservedText writes them. Null: they are none.
std::optional<ReservedEnvelope> ReadReservedText(std::string_view text);

// --- writing. Each appends a whole PING to `out`.

void AppendEffectEnvelope(std::string& out, Args effect);
void AppendClockEnvelope(std::string& out, const LogClock& clock);
void AppendAbsoluteEnvelope(std::string& out);
void AppendTimeEnvelope(std::string& out, int64_t engine_ms);
void AppendReservedEnvelope(std::string& out, const ReservedEnvelope& reserved);
// "17 30000", and the run id behind it, if there is one.
std::string ReservedText(const ReservedEnvelope& reserved);

}  // namespace sluice
