// See answer_reader.h.
#include "server/peers/answer_reader.h"

#include <optional>

#include "protocol/text/number_text.h"

namespace sluice {
namespace {

using State = AnswerReading::State;

// Reads one thing after the other at the start of `bytes_`.
class AnswerParser {
 public:
  AnswerParser(std::string_view bytes, size_t bulk_bytes_max)
      : bytes_(bytes), bulk_bytes_max_(bulk_bytes_max) {}

  State Read(PeerAnswer& answer) {
    if (bytes_.empty()) return State::kIncomplete;
    if (bytes_.front() != '*') return ReadValue(answer);
    int64_t count = 0;
    if (const State state = ReadCount(count); state != State::kWhole) return state;
    if (count > static_cast<int64_t>(kAnswerValuesMax)) return State::kFault;
    for (int64_t i = 0; i < count; ++i) {
      if (const State state = ReadValue(answer); state != State::kWhole) return state;
    }
    return State::kWhole;
  }
  size_t left() const { return bytes_.size(); }

 private:
  State ReadValue(PeerAnswer& answer);
  State ReadLine(std::string_view& line);
  State ReadCount(int64_t& count);

  std::string_view bytes_;
  const size_t bulk_bytes_max_;
};

// Without its sign and its end.
State AnswerParser::ReadLine(std::string_view& line) {
  const size_t end = bytes_.substr(0, kAnswerLineBytesMax).find("\r\n");
  if (end == bytes_.npos)
    return bytes_.size() < kAnswerLineBytesMax ? State::kIncomplete : State::kFault;
  line = bytes_.substr(1, end - 1);
  bytes_.remove_prefix(end + 2);
  return State::kWhole;
}

State AnswerParser::ReadCount(int64_t& count) {
  std::string_view line;
  if (const State state = ReadLine(line); state != State::kWhole) return state;
  const std::optional<int64_t> number = ParseInt64(line);
  if (!number || *number < -1) return State::kFault;
  count = *number;
  return State::kWhole;
}

State AnswerParser::ReadValue(PeerAnswer& answer) {
  if (bytes_.empty()) return State::kIncomplete;
  const char sign = bytes_.front();
  if (sign == '+' || sign == '-' || sign == ':') {
    std::string_view line;
    if (const State state = ReadLine(line); state != State::kWhole) return state;
    answer.is_error |= sign == '-';
    answer.values.emplace_back(line);
    return State::kWhole;
  }
  if (sign != '$') return State::kFault;
  int64_t size = 0;
  if (const State state = ReadCount(size); state != State::kWhole) return state;
  if (size < 0) return State::kWhole;
  const auto length = static_cast<size_t>(size);
  if (length > bulk_bytes_max_) return State::kFault;
  if (bytes_.size() < length + 2) return State::kIncomplete;
  if (bytes_.substr(length, 2) != "\r\n") return State::kFault;
  answer.values.emplace_back(bytes_.substr(0, length));
  bytes_.remove_prefix(length + 2);
  return State::kWhole;
}

}  // namespace

AnswerReading ReadAnswer(std::string_view bytes, size_t bulk_bytes_max) {
  AnswerReading reading;
  AnswerParser parser(bytes, bulk_bytes_max);
  reading.state = parser.Read(reading.answer);
  if (reading.state == State::kWhole) reading.bytes = bytes.size() - parser.left();
  return reading;
}

}  // namespace sluice
