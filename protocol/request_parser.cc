// See request_parser.h. Each array is parsed by one of two ways: a fast one for requests that lie
// in the window as a whole, and a careful one that can stop anywhere and finds every fault in
// Redis's order.
#include "protocol/request_parser.h"

#include <algorithm>
#include <utility>

#include "protocol/text/hex.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"

// Redis's grammar is laxer than its description, and clients rely on that: of a CRLF only the CR is
// looked for and two bytes are skipped; the two bytes after a bulk are not looked at; an inline
// line ends with LF alone. Redis searches line ends with strchr, so a NUL in front of one hides it,
// and the line counts as endless.

namespace sluice {
namespace {

// Redis reads so much at once. A line end further out than this beyond the bound is never seen
// there.
constexpr size_t kReadBytes = 16 * 1024;

int64_t BulkBytesMax(const ParseLimits& limits) {
  return limits.before_login ? std::min(limits.bulk_bytes_max, kBulkBytesBeforeLoginMax)
                             : limits.bulk_bytes_max;
}

// Not isspace: '\v' and '\f' separate arguments only in front of one.
bool EndsArgument(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"' || c == '\'';
}

}  // namespace

// --- arrays

ParseStatus RequestParser::NextAnyWay(std::string_view window, const ParseLimits& limits,
                                      ArgumentList& arguments) {
  if (window.empty()) return ParseStatus::kIncomplete;
  if (window.front() != '*') return ParseInline(window, arguments);
  return ParseArray(window, limits, arguments);
}

void RequestParser::Reset() {
  consumed_ = 0;
  partial_.reset();
  unescaped_.clear();
}

// Made when first needed, so that an idle connection has none.
RequestParser::Partial& RequestParser::partial() {
  if (!partial_) partial_ = std::make_unique<Partial>();
  return *partial_;
}

// The sentence is kept in the Partial, which only a faulty or an incomplete request has.
RequestParser::Step RequestParser::Fail(std::string sentence) {
  partial().error = std::move(sentence);
  return Step::kError;
}

// The careful path: goes on where the last call stopped, and finds every fault in Redis's order.
ParseStatus RequestParser::ParseArray(std::string_view window, const ParseLimits& limits,
                                      ArgumentList& arguments) {
  Partial& state = partial();
  Step step = Step::kDone;
  if (state.arguments_left == 0) step = ReadCount(window, limits);
  while (step == Step::kDone && state.arguments_left > 0) {
    if (state.bulk_bytes < 0 && !ReadPlainBulkLength(window, limits)) {
      step = ReadBulkLength(window, limits);
    }
    if (step != Step::kDone) break;
    const auto bytes = static_cast<size_t>(state.bulk_bytes);
    // Not looked at: the two bytes behind a bulk are skipped, whatever they are.
    state.bytes_wanted = state.position + bytes + 2;
    if (window.size() < state.bytes_wanted) return ParseStatus::kIncomplete;
    state.pieces.push_back({state.position, bytes});
    state.argument_bytes += bytes;
    state.position = state.scanned = state.bytes_wanted;
    state.bytes_wanted = 0;
    state.bulk_bytes = -1;
    --state.arguments_left;
  }
  if (step == Step::kError) return ParseStatus::kError;
  if (step == Step::kIncomplete) return ParseStatus::kIncomplete;
  std::string_view* out = arguments.Add(state.pieces.size());
  for (const Piece& piece : state.pieces) *out++ = window.substr(piece.offset, piece.bytes);
  consumed_ = state.position;
  partial_.reset();
  return ParseStatus::kRequest;
}

// "*0" and negative counts are requests without arguments, as in Redis; the caller skips them.
RequestParser::Step RequestParser::ReadCount(std::string_view window, const ParseLimits& limits) {
  size_t line_end;
  const Step step = FindLineEnd(window, '\r', "mbulk count string", line_end);
  if (step != Step::kDone) return step;
  if (line_end + 2 > window.size()) return Step::kIncomplete;
  const std::optional<int64_t> count = ParseInt64(window.substr(1, line_end - 1));
  if (!count || *count > limits.arguments_max) {
    return Fail("Protocol error: invalid multibulk length");
  }
  if (limits.before_login && *count > kArgumentsBeforeLoginMax) {
    return Fail("Protocol error: unauthenticated multibulk length");
  }
  partial_->arguments_left = std::max<int64_t>(*count, 0);
  partial_->position = partial_->scanned = line_end + 2;
  return Step::kDone;
}

// The fast path of ReadBulkLength. False: nothing was changed.
bool RequestParser::ReadPlainBulkLength(std::string_view window, const ParseLimits& limits) {
  const std::string_view rest = window.substr(partial_->position);
  if (rest.size() < whole_array::kSmallestBulkBytes) return false;
  uint32_t bytes;
  const char* const end =
      whole_array::ReadHeader(rest.data(), rest.data() + rest.size(), '$', bytes);
  if (end == nullptr || bytes > BulkBytesMax(limits)) return false;
  partial_->bulk_bytes = bytes;
  partial_->position += static_cast<size_t>(end - rest.data());
  return true;
}

// "$<digits>\r\n" with every fault that Redis knows, in its order: the mark, the number, the limit,
// and the stricter limit before login.
RequestParser::Step RequestParser::ReadBulkLength(std::string_view window,
                                                  const ParseLimits& limits) {
  size_t line_end;
  const Step step = FindLineEnd(window, '\r', "bulk count string", line_end);
  if (step != Step::kDone) return step;
  if (line_end + 2 > window.size()) return Step::kIncomplete;
  const size_t start = partial_->position;
  if (window[start] != '$') {
    std::string sentence = "Protocol error: expected '$', got '?'";
    sentence[sentence.size() - 2] =
        window[start] == '\r' || window[start] == '\n' ? ' ' : window[start];
    return Fail(std::move(sentence));
  }
  const std::optional<int64_t> bytes = ParseInt64(window.substr(start + 1, line_end - start - 1));
  if (!bytes || *bytes < 0 || *bytes > limits.bulk_bytes_max) {
    return Fail("Protocol error: invalid bulk length");
  }
  if (limits.before_login && *bytes > kBulkBytesBeforeLoginMax) {
    return Fail("Protocol error: unauthenticated bulk length");
  }
  partial_->bulk_bytes = *bytes;
  partial_->position = line_end + 2;
  return Step::kDone;
}

// Where the line at position ends. An endless one is refused once it passes kInlineBytesMax.
RequestParser::Step RequestParser::FindLineEnd(std::string_view window, char end, const char* what,
                                               size_t& at) {
  const size_t start = partial_ ? partial_->position : 0;
  const size_t scanned = partial_ ? partial_->scanned : 0;
  at = window.find(end, scanned);
  const size_t nul = window.substr(0, at).find('\0', scanned);
  const bool found = at != std::string_view::npos && nul == std::string_view::npos;
  if (found && at - start < kInlineBytesMax + kReadBytes) return Step::kDone;
  // The scan goes on where it stopped, so a long line that comes byte by byte is looked through
  // once.
  if (window.size() - start > kInlineBytesMax) {
    return Fail(std::string("Protocol error: too big ") + what);
  }
  partial().scanned = std::min(nul, window.size());
  return Step::kIncomplete;
}

// --- inline lines

// A line for people with telnet, and of health checks: words between spaces, quotes as in Redis's
// configuration.
ParseStatus RequestParser::ParseInline(std::string_view window, ArgumentList& arguments) {
  size_t line_end;
  const Step step = FindLineEnd(window, '\n', "inline request", line_end);
  if (step == Step::kError) return ParseStatus::kError;
  if (step == Step::kIncomplete) return ParseStatus::kIncomplete;
  const size_t before = arguments.size();
  std::string_view line = window.substr(0, line_end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!SplitLine(line, arguments)) {
    arguments.Shorten(before);
    Fail("Protocol error: unbalanced quotes in request");
    return ParseStatus::kError;
  }
  consumed_ = line_end + 1;
  partial_.reset();
  return ParseStatus::kRequest;
}

namespace {

// Appends what the backslash at line[at] stands for inside double quotes; returns how many bytes
// it took.
size_t Unescape(std::string_view line, size_t at, std::string& out) {
  if (at + 3 < line.size() && line[at + 1] == 'x') {
    const int high = HexDigit(line[at + 2]);
    const int low = HexDigit(line[at + 3]);
    if (high >= 0 && low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      return 4;
    }
  }
  switch (line[at + 1]) {
    case 'n':
      out.push_back('\n');
      break;
    case 'r':
      out.push_back('\r');
      break;
    case 't':
      out.push_back('\t');
      break;
    case 'b':
      out.push_back('\b');
      break;
    case 'a':
      out.push_back('\a');
      break;
    default:
      out.push_back(line[at + 1]);
  }
  return 2;
}

// Appends the text of the quotes that open at line[at]; returns the offset behind the closing one,
// npos if there is none or if it is not followed by a space or the line's end.
size_t ReadQuoted(std::string_view line, size_t at, std::string& out) {
  const char quote = line[at++];
  while (at < line.size()) {
    const char c = line[at];
    if (c == quote) {
      ++at;
      return at == line.size() || IsSpace(line[at]) ? at : std::string_view::npos;
    }
    if (c == '\\' && at + 1 < line.size() && quote == '"') {
      at += Unescape(line, at, out);
    } else if (c == '\\' && at + 1 < line.size() && line[at + 1] == '\'') {
      out.push_back('\'');
      at += 2;
    } else {
      out.push_back(c);
      ++at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

// Redis's sdssplitargs. False: unbalanced quotes. A closing quote ends its argument; an opening one
// in the middle of a word goes on with it (a"b c" is "ab c").
bool RequestParser::SplitLine(std::string_view line, ArgumentList& arguments) {
  size_t at = 0;
  while (true) {
    while (at < line.size() && IsSpace(line[at])) ++at;
    if (at == line.size()) return true;
    const size_t start = at;
    while (at < line.size() && !EndsArgument(line[at])) ++at;
    const std::string_view word = line.substr(start, at - start);
    if (at == line.size() || (line[at] != '"' && line[at] != '\'')) {
      arguments.push_back(word);
      continue;
    }
    std::string& text = unescaped_.emplace_front(word);
    at = ReadQuoted(line, at, text);
    if (at == std::string_view::npos) return false;
    arguments.push_back(text);
  }
}

}  // namespace sluice
