// See envelope.h. Numbers are read as strictly as they are written: one text for one number, so
// that what is relayed and what is made anew are the same bytes.
#include "server/replication/envelope.h"

#include <array>
#include <cassert>

#include "protocol/limits.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "storage/locks/fence.h"

namespace sluice {
namespace {

constexpr std::string_view kEnvelopeWord = "SLUICE";  // its version follows
constexpr std::string_view kEnvelopeBegin = "SLUICE1 ";
constexpr std::string_view kEnvelopePing = "PING";

// --- reading

// Exactly N numbers with a space between two. Bounded, as only the first bytes are looked at.
template <size_t N>
std::optional<std::array<int64_t, N>> ReadNumbers(std::string_view text) {
  constexpr size_t kTextMax = N * (kInt64TextMax + 1);
  if (text.size() > kTextMax) return std::nullopt;
  std::array<int64_t, N> numbers;
  for (size_t i = 0; i < N; ++i) {
    const size_t end = i + 1 < N ? text.find(' ') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    const std::optional<int64_t> number = ParseInt64(text.substr(0, end));
    if (!number) return std::nullopt;
    numbers[i] = *number;
    text.remove_prefix(i + 1 < N ? end + 1 : end);
  }
  return numbers;
}

bool IsMoment(int64_t ms) { return ms >= -kEnvelopeMsMax && ms <= kEnvelopeMsMax; }

using Read = std::optional<Envelope>;

// The request has to be whole, and nothing may follow it.
Read ReadEffect(std::string_view body, Fault& fault) {
  if (!body.starts_with('*')) {  // the parser would take a line of words, too
    fault = "an effect is no request";
    return std::nullopt;
  }
  EffectEnvelope effect;
  RequestParser parser;
  // A master may allow longer arguments than this server does.
  const ParseLimits limits{.bulk_bytes_max = static_cast<int64_t>(kEnvelopeBytesMax)};
  const ParseStatus status = parser.Next(body, limits, effect.words);
  if (status == ParseStatus::kError) {
    fault = Concat("an effect is no request: ", parser.error());
  } else if (status == ParseStatus::kIncomplete) {
    fault = "an effect is cut off";
  } else if (parser.consumed() != body.size()) {
    fault = "something follows an effect";
  } else if (effect.words.empty()) {
    fault = "an effect has no words";
  } else if (IsSameInAnyCase(effect.words[0], kEnvelopePing)) {
    fault = "an effect is a PING";
  } else {
    return effect;
  }
  return std::nullopt;
}

Read ReadClock(std::string_view body, Fault& fault) {
  const auto numbers = ReadNumbers<2>(body);
  if (numbers && IsMoment((*numbers)[0]) && IsMoment((*numbers)[1]))
    return ClockEnvelope{{(*numbers)[0], (*numbers)[1]}};
  fault = "a clock is not an offset and a shift in ms";
  return std::nullopt;
}

Read ReadAbsolute(std::string_view body, Fault& fault) {
  if (body.empty()) return AbsoluteEnvelope{};
  fault = "something follows the mark of an absolute deadline";
  return std::nullopt;
}

Read ReadTime(std::string_view body, Fault& fault) {
  const auto numbers = ReadNumbers<1>(body);
  if (numbers && IsMoment((*numbers)[0])) return TimeEnvelope{(*numbers)[0]};
  fault = "a heartbeat has no time in ms";
  return std::nullopt;
}

Read ReadReserved(std::string_view body, Fault& fault) {
  if (const auto reserved = ReadReservedText(body)) return *reserved;
  fault = "what is reserved is not a token and a span in ms";
  return std::nullopt;
}

// By letter, how the bytes behind it are read. Those of one that has a body begin with a space.
struct LetterRow {
  char letter;
  bool has_body;
  Read (*read)(std::string_view body, Fault& fault);
};
constexpr LetterRow kLetters[] = {
    {'E', true, ReadEffect}, {'C', true, ReadClock},    {'A', false, ReadAbsolute},
    {'H', true, ReadTime},   {'M', true, ReadReserved},
};

}  // namespace

std::optional<ReservedEnvelope> ReadReservedText(std::string_view text) {
  const size_t run_at = text.rfind(' ') + 1;
  const std::optional<ReplicationId> run =
      text.size() > ReplicationId::kBytes ? ReplicationId::Of(text.substr(run_at)) : std::nullopt;
  const auto numbers = ReadNumbers<2>(run ? text.substr(0, run_at - 1) : text);
  if (!numbers) return std::nullopt;
  const auto [mark, horizon_ms] = *numbers;
  const bool is_right =
      mark >= 0 && mark <= kTokenRestoredMax && horizon_ms >= 0 && horizon_ms <= kEnvelopeMsMax;
  if (!is_right) return std::nullopt;
  return ReservedEnvelope{mark, horizon_ms, run};
}

std::optional<Envelope> ReadEnvelope(std::string_view argument, Fault& fault) {
  if (!argument.starts_with(kEnvelopeWord)) return NoEnvelope{};
  if (!argument.starts_with(kEnvelopeBegin)) {
    fault = "an envelope is of a version that this Sluice does not know: it needs a newer one";
    return std::nullopt;
  }
  if (argument.size() > kEnvelopeBytesMax) {
    fault = "an envelope is larger than any effect";
    return std::nullopt;
  }
  std::string_view rest = argument.substr(kEnvelopeBegin.size());
  const bool has_letter = !rest.empty() && (rest.size() == 1 || rest[1] == ' ');
  if (!has_letter) {
    fault = "an envelope does not say what it is";
    return std::nullopt;
  }
  const char letter = rest[0];
  rest.remove_prefix(1);
  for (const LetterRow& row : kLetters) {
    if (row.letter != letter) continue;
    if (row.has_body && !rest.empty()) rest.remove_prefix(1);
    return row.read(rest, fault);
  }
  return UnknownEnvelope{letter};
}

// --- writing

namespace {

// A PING whose argument is all that `pieces` give.
template <typename... Pieces>
void AppendPing(std::string& out, const Pieces&... pieces) {
  const std::string argument = Concat(kEnvelopeBegin, pieces...);
  const std::string_view ping[] = {kEnvelopePing, argument};
  AppendRequest(out, ping);
}

}  // namespace

// Without a copy: an effect may be large, and most of those of locks and limits come this way.
void AppendEffectEnvelope(std::string& out, Args effect) {
  assert(!effect.empty() && !IsSameInAnyCase(effect[0], kEnvelopePing));
  constexpr std::string_view kLetter = "E ";
  const size_t size = kEnvelopeBegin.size() + kLetter.size() + RequestBytes(effect);
  ConcatTo(out, "*2\r\n$4\r\n", kEnvelopePing, "\r\n$", size, "\r\n", kEnvelopeBegin, kLetter);
  AppendRequest(out, effect);
  out += "\r\n";
}

void AppendClockEnvelope(std::string& out, const LogClock& clock) {
  AppendPing(out, "C ", clock.unix_offset_ms, " ", clock.shift_ms);
}

void AppendAbsoluteEnvelope(std::string& out) { AppendPing(out, "A"); }

void AppendTimeEnvelope(std::string& out, int64_t engine_ms) { AppendPing(out, "H ", engine_ms); }

void AppendReservedEnvelope(std::string& out, const ReservedEnvelope& reserved) {
  AppendPing(out, "M ", ReservedText(reserved));
}

std::string ReservedText(const ReservedEnvelope& reserved) {
  const std::string_view run = reserved.complete_at ? reserved.complete_at->text() : "";
  return Concat(reserved.token_mark, " ", reserved.horizon_ms, run.empty() ? "" : " ", run);
}

}  // namespace sluice
