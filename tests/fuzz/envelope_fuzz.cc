// Any bytes as the argument of a PING: no envelope, one that is skipped, one that means something,
// or a fault in words. What means something is written again as the same bytes, so that no two
// texts say the same.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "protocol/reply_reader.h"
#include "server/replication/envelope.h"
#include "tests/fuzz/fuzz_target.h"

namespace sluice {

std::span<const std::string_view> FuzzWords() {
  using namespace std::string_view_literals;
  static constexpr std::string_view kWords[] = {
      "SLUICE1 "sv,
      "SLUICE1 E "sv,
      "SLUICE1 C "sv,
      "SLUICE1 A"sv,
      "SLUICE1 H "sv,
      "SLUICE1 M "sv,
      "SLUICE2 A"sv,
      "SLUICE"sv,
      "SLUICE1 E *2\r\n$10\r\nLOCK.BREAK\r\n$1\r\nd\r\n"sv,
      "SLUICE1 E *1\r\n$4\r\nPING\r\n"sv,
      "SLUICE1 M 9007199254740991 562949953421312"sv,
      "*1\r\n"sv,
      "*0\r\n"sv,
      "*-1\r\n"sv,
      "*1048577\r\n"sv,
      "$0\r\n\r\n"sv,
      "$1\r\na\r\n"sv,
      "$-1\r\n"sv,
      "$4611686018427387904\r\n"sv,
      "$4\r\nPING\r\n"sv,
      "\r\n"sv,
      "0"sv,
      "-1"sv,
      "01"sv,
      " "sv,
      "562949953421313"sv,
      "9007199254740992"sv,
      "9223372036854775808"sv,
      "\0"sv,
  };
  return kWords;
}

namespace {

// Writes an envelope again; of the first two kinds nothing.
struct Writer {
  std::string out;
  void operator()(const NoEnvelope&) {}
  void operator()(const UnknownEnvelope&) {}
  void operator()(const EffectEnvelope& effect) {
    FuzzCheck(!effect.words.empty(), "an effect has words");
    AppendEffectEnvelope(out, effect.words);
  }
  void operator()(const ClockEnvelope& clock) { AppendClockEnvelope(out, clock.clock); }
  void operator()(const AbsoluteEnvelope&) { AppendAbsoluteEnvelope(out); }
  void operator()(const TimeEnvelope& time) { AppendTimeEnvelope(out, time.engine_ms); }
  void operator()(const ReservedEnvelope& reserved) { AppendReservedEnvelope(out, reserved); }
};

// The argument of a PING.
std::string ArgumentOf(const std::string& bytes) {
  ReplyReader reader;
  const std::optional<Reply> ping = reader.Read(bytes);
  FuzzCheck(ping && reader.consumed() == bytes.size(), "one request is written");
  FuzzCheck(ping->elements.size() == 2, "a PING with one argument");
  return ping->elements[1].text;
}

void Check(std::string_view argument) {
  Fault fault;
  const std::optional<Envelope> envelope = ReadEnvelope(argument, fault);
  FuzzCheck(envelope.has_value() == fault.empty(), "an envelope or a sentence");
  if (!envelope) return;
  Writer writer;
  std::visit(writer, *envelope);
  if (writer.out.empty()) return;
  const std::string again = ArgumentOf(writer.out);
  Fault none;
  const std::optional<Envelope> same = ReadEnvelope(again, none);
  FuzzCheck(same && same->index() == envelope->index(), "what is written is read");
  // A length may be written with zeros before it.
  if (!std::holds_alternative<EffectEnvelope>(*envelope))
    FuzzCheck(argument == again, "and is the same");
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
