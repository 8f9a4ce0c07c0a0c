// See reply_writer.h. Small replies are formatted in place, in room reserved in the output buffer;
// large ones may straddle its blocks.
#include "protocol/reply_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/base/attributes.h"
#include "protocol/text/copy_bytes.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

// A header line: kind, number, CRLF.
constexpr size_t kHeaderBytesMax = 1 + kInt64TextMax + 2;
// CopyBytes moves so many without a call.
constexpr size_t kCopiedInlineMax = 16;

inline char* WriteHeader(char* out, char kind, int64_t number) {
  *out++ = kind;
  if (static_cast<uint64_t>(number) < 10) [[likely]] {  // most replies and lengths
    *out++ = static_cast<char>('0' + number);
  } else {
    out = FormatInt64(out, number);
  }
  *out++ = '\r';
  *out++ = '\n';
  return out;
}

}  // namespace

// Room for the longest header is reserved and only what was written is committed.
void ReplyWriter::Header(char kind, int64_t number) {
  char* const start = out_->Reserve(kHeaderBytesMax);
  out_->Commit(static_cast<size_t>(WriteHeader(start, kind, number) - start));
}

// kind, text, CRLF.
void ReplyWriter::Line(char kind, std::string_view text) {
  if (text.size() + 3 > OutputBuffer::kBlockBytes) [[unlikely]] {
    out_->Append({&kind, 1});
    out_->Append(text);
    out_->Append("\r\n");
    return;
  }
  char* const start = out_->Reserve(text.size() + 3);
  start[0] = kind;
  CopyBytes(start + 1, text.data(), text.size());
  std::memcpy(start + 1 + text.size(), "\r\n", 2);
  out_->Commit(text.size() + 3);
}

// --- scalars

// "+OK" is most of what is ever sent: copied as one constant.
void ReplyWriter::Status(std::string_view text) {
  if (text == "OK") [[likely]]
    return out_->Append("+OK\r\n");
  Line('+', text);
}

// The listener hears the sentence as it was made; what is sent is one line, whatever bytes of a
// client it quotes.
void ReplyWriter::Error(std::string_view text) {
  if (listener_) listener_->ErrorSent(text);
  // Line ends would let a client's bytes in an error sentence forge replies.
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  // Two finds: find_first_of is a call a character.
  if (text.find('\n') == text.npos && text.find('\r') == text.npos) [[likely]] {
    return Line('-', text);
  }
  std::string one_line(text);
  std::replace(one_line.begin(), one_line.end(), '\r', ' ');
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  Line('-', one_line);
}

void ReplyWriter::Integer(int64_t value) { Header(':', value); }

// The whole array in one piece of reserved room where it is short, as LIMIT.TAKE's reply is.
void ReplyWriter::Integers(std::span<const int64_t> values) {
  const size_t most = (values.size() + 1) * kHeaderBytesMax;
  if (most > OutputBuffer::kFirstBlockBytes) return ReplySink::Integers(values);
  char* const start = out_->Reserve(most);
  char* at = WriteHeader(start, '*', static_cast<int64_t>(values.size()));
  for (const int64_t value : values) at = WriteHeader(at, ':', value);
  out_->Commit(static_cast<size_t>(at - start));
}

// Header, bytes and CRLF in one reserved piece, unless it is large. A short one for which there is
// room calls nothing.
void ReplyWriter::Bulk(std::string_view bytes) {
  const size_t size = bytes.size();
  char* const start = out_->RoomFor(kHeaderBytesMax + kCopiedInlineMax + 2);
  if (size > kCopiedInlineMax || start == nullptr) [[unlikely]]
    return AnyBulk(bytes);
  start[0] = '$';
  char* at = start + 1;
  if (size < 10) [[likely]] {
    *at++ = static_cast<char>('0' + size);
  } else {
    *at++ = '1';
    *at++ = static_cast<char>('0' - 10 + size);
  }
  std::memcpy(at, "\r\n", 2);
  CopyBytes(at + 2, bytes.data(), size);
  std::memcpy(at + 2 + size, "\r\n", 2);
  out_->Commit(static_cast<size_t>(at + 4 + size - start));
}

ABSL_ATTRIBUTE_NOINLINE void ReplyWriter::AnyBulk(std::string_view bytes) {
  if (bytes.size() > OutputBuffer::kBlockBytes / 4) [[unlikely]] {
    // Large ones may straddle blocks: reserving their room would waste the rest of this one.
    Header('$', static_cast<int64_t>(bytes.size()));
    out_->Append(bytes);
    out_->Append("\r\n");
    return;
  }
  char* const start = out_->Reserve(kHeaderBytesMax + bytes.size() + 2);
  char* at = WriteHeader(start, '$', static_cast<int64_t>(bytes.size()));
  CopyBytes(at, bytes.data(), bytes.size());
  at += bytes.size();
  std::memcpy(at, "\r\n", 2);
  out_->Commit(static_cast<size_t>(at + 2 - start));
}

void ReplyWriter::Null() { out_->Append(version_ == 2 ? "$-1\r\n" : "_\r\n"); }
void ReplyWriter::NullArray() { out_->Append(version_ == 2 ? "*-1\r\n" : "_\r\n"); }

// --- aggregates

void ReplyWriter::Array(size_t length) { Header('*', static_cast<int64_t>(length)); }

// RESP2 has neither maps nor sets nor pushes: their elements come as an array, in the same order.
void ReplyWriter::Map(size_t pairs) {
  if (version_ == 2) return Array(pairs * 2);
  Header('%', static_cast<int64_t>(pairs));
}

// Members in the order in which they are sent, in both versions.
void ReplyWriter::Set(size_t length) {
  Header(version_ == 2 ? '*' : '~', static_cast<int64_t>(length));
}

void ReplyWriter::Push(size_t length) {
  Header(version_ == 2 ? '*' : '>', static_cast<int64_t>(length));
}

// --- what RESP2 does not have

// Text as Redis 7.0 has it, 17 digits: 0.1 is 0.10000000000000001.
void ReplyWriter::Double(double value) {
  char text[kDoubleTextMax];
  const std::string_view written(text, static_cast<size_t>(FormatDouble(text, value) - text));
  if (version_ == 2) return Bulk(written);
  Line(',', written);
}

void ReplyWriter::PlainDouble(double value) {
  const std::string text = HumanLongDoubleText(value);
  if (version_ == 2) return Bulk(text);
  Line(',', text);
}

void ReplyWriter::Bool(bool value) {
  if (version_ == 2) return out_->Append(value ? ":1\r\n" : ":0\r\n");
  out_->Append(value ? "#t\r\n" : "#f\r\n");
}

void ReplyWriter::BigNumber(std::string_view digits) {
  if (version_ == 2) return Bulk(digits);
  Line('(', digits);
}

// "txt" or "mkd" before the bytes, and a colon.
void ReplyWriter::Verbatim(std::string_view bytes, std::string_view format) {
  if (version_ == 2) return Bulk(bytes);
  // The format has three characters, no more and no less.
  char prefix[] = {' ', ' ', ' ', ':'};
  std::memcpy(prefix, format.data(), std::min<size_t>(format.size(), 3));
  Header('=', static_cast<int64_t>(bytes.size() + sizeof prefix));
  out_->Append({prefix, sizeof prefix});
  out_->Append(bytes);
  out_->Append("\r\n");
}

// RESP2 has none: nothing is sent, and the caller leaves the pairs out.
void ReplyWriter::Attribute(size_t pairs) {
  if (version_ != 2) Header('|', static_cast<int64_t>(pairs));
}

}  // namespace sluice
