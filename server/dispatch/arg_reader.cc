// See arg_reader.h. Every read goes through Bytes or looks at failed_ first, so that a fault stops
// all that follow it.
#include "server/dispatch/arg_reader.h"

#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/same_bytes.h"

namespace sluice {

// `upper` is in capitals, and so is what most clients send. Letters of ASCII only, as in Redis.
bool IsWord(std::string_view text, std::string_view upper) {
  if (SameBytes(text, upper)) return true;
  if (text.size() != upper.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z' ? c - 32 : c) != upper[i]) return false;
  }
  return true;
}

std::string_view ArgReader::Bytes() {
  if (!more()) {
    Fail(ErrorCode::kSyntax);
    return {};
  }
  return args_[next_++];
}

// 0 on a fault: the caller looks at failed() once, at the end.
int64_t ArgReader::Int(ErrorCode fault) {
  const std::string_view text = Bytes();
  if (failed_) return 0;
  const std::optional<int64_t> value = ParseInt64(text);
  if (!value) Fail(fault);
  return value.value_or(0);
}

int64_t ArgReader::IntIn(const IntRange& range) {
  if (failed_) return 0;
  const std::optional<int64_t> value = more() ? ParseInt64(Bytes()) : std::nullopt;
  if (value && *value >= range.low && *value <= range.high) return *value;
  // One sentence is for text that is no integer, the other for an integer outside of the range.
  Fail(Concat("ERR ", range.name, value ? " must be " : " must be an integer, ", range.low, " to ",
              range.high, range.unit.empty() ? "" : " ", range.unit));
  return 0;
}

double ArgReader::Double(ErrorCode fault) {
  const std::string_view text = Bytes();
  if (failed_) return 0;
  const std::optional<double> value = ParseDouble(text);
  if (!value) Fail(fault);
  return value.value_or(0);
}

bool ArgReader::TakeWord(std::string_view upper) {
  if (!more() || !IsWord(args_[next_], upper)) return false;
  ++next_;
  return true;
}

// The first fault is kept: Redis answers with the one that it meets first, from left to right.
void ArgReader::Fail(ErrorCode code) {
  if (failed_) return;
  failed_ = true;
  code_ = code;
}

void ArgReader::Fail(std::string text) {
  if (failed_) return;
  failed_ = true;
  text_ = std::move(text);
}

bool ArgReader::Finish() {
  if (!failed_ && next_ < args_.size()) Fail(ErrorCode::kSyntax);
  return !failed_;
}

}  // namespace sluice
