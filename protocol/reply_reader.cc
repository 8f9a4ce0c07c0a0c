// See reply_reader.h. A value that has not come in whole is read again from its start by the next
// Read().
#include "protocol/reply_reader.h"

#include <algorithm>

#include "protocol/limits.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr size_t kNumberLineMax = 32;  // more than any length or integer has

// --- as text

// "nan" is no number for ParseDouble, but it is one on the wire.
bool IsDoubleText(std::string_view text) {
  return text == "nan" || text == "-nan" || ParseDouble(text).has_value();
}

// sdscatrepr without its quotes: what a terminal cannot show is escaped.
void AppendEscaped(std::string& out, std::string_view bytes, bool quoted) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += quoted ? "\\\"" : "\"";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          out += c;
        } else {
          const auto byte = static_cast<unsigned char>(c);
          out += "\\x";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        }
    }
  }
}

void AppendText(std::string& out, const Reply& reply);

// An attribute stands before its element without a comma, and does not count as one of a pair.
void AppendElements(std::string& out, std::string_view open, const Reply& reply, char close) {
  const bool pairs = close == '}';
  out += open;
  size_t counted = 0;
  std::string_view separator;
  for (const Reply& element : reply.elements) {
    out += separator;
    AppendText(out, element);
    if (element.kind == Reply::Kind::kAttribute) {
      separator = " ";
    } else {
      separator = pairs && counted++ % 2 == 0 ? " => " : ", ";
    }
  }
  out += close;
}

void AppendScalar(std::string& out, char mark, const Reply& reply) {
  out += mark;
  AppendEscaped(out, reply.text, false);
}

void AppendText(std::string& out, const Reply& reply) {
  using Kind = Reply::Kind;
  switch (reply.kind) {
    case Kind::kStatus:
      return AppendScalar(out, '+', reply);
    case Kind::kError:
      return AppendScalar(out, '-', reply);
    case Kind::kDouble:
      return AppendScalar(out, ',', reply);
    case Kind::kBigNumber:
      return AppendScalar(out, '(', reply);
    case Kind::kVerbatim:
      return AppendScalar(out, '=', reply);
    case Kind::kInteger:
      out += ':' + Int64Text(reply.integer);
      return;
    case Kind::kBool:
      out += reply.integer != 0 ? "#t" : "#f";
      return;
    case Kind::kNull:
    case Kind::kNullBulk:
      out += "(nil)";
      return;
    case Kind::kNullArray:
      out += "(nil-array)";
      return;
    case Kind::kArray:
      return AppendElements(out, "[", reply, ']');
    case Kind::kSet:
      return AppendElements(out, "~[", reply, ']');
    case Kind::kPush:
      return AppendElements(out, ">[", reply, ']');
    case Kind::kMap:
      return AppendElements(out, "{", reply, '}');
    case Kind::kAttribute:
      return AppendElements(out, "|{", reply, '}');
    case Kind::kBulk:
      out += '"';
      AppendEscaped(out, reply.text, true);
      out += '"';
      return;
  }
}

}  // namespace

std::string Reply::ToText() const {
  std::string out;
  AppendText(out, *this);
  return out;
}

// --- reading

std::optional<Reply> ReplyReader::Read(std::string_view bytes) {
  consumed_ = 0;
  failed_ = false;
  Reply reply;
  size_t at = 0;
  if (!ReadValue(bytes, at, 0, reply)) return std::nullopt;
  consumed_ = at;
  return reply;
}

bool ReplyReader::Fail() {
  failed_ = true;
  return false;
}

// The line at `at` without its CRLF. No line has a CR or LF inside.
bool ReplyReader::ReadLine(std::string_view bytes, size_t& at, size_t bytes_max,
                           std::string_view& line) {
  const std::string_view rest = bytes.substr(at);
  const size_t end = rest.substr(0, bytes_max + 1).find('\r');
  if (rest.substr(0, std::min(end, bytes_max + 1)).find('\n') != rest.npos) return Fail();
  if (end == std::string_view::npos) return rest.size() > bytes_max ? Fail() : false;
  if (end + 1 >= rest.size()) return false;
  if (rest[end + 1] != '\n') return Fail();
  line = rest.substr(0, end);
  at += end + 2;
  return true;
}

// A length, a count or an integer: canonical decimals alone, so no "+1" and no "01".
bool ReplyReader::ReadNumber(std::string_view bytes, size_t& at, int64_t& number) {
  std::string_view line;
  if (!ReadLine(bytes, at, kNumberLineMax, line)) return false;
  const std::optional<int64_t> value = ParseInt64(line);
  if (!value) return Fail();
  number = *value;
  return true;
}

// Reads what follows '$' or '=': a length line, so many bytes and CRLF.
bool ReplyReader::ReadBlob(std::string_view bytes, size_t& at, Reply& out) {
  int64_t length;
  if (!ReadNumber(bytes, at, length)) return false;
  if (length == -1 && out.kind == Reply::Kind::kBulk) {
    out.kind = Reply::Kind::kNullBulk;
    return true;
  }
  if (length < 0 || length > kBulkBytesMax) return Fail();
  const auto size = static_cast<size_t>(length);
  const std::string_view rest = bytes.substr(at);
  if (rest.size() > size && rest[size] != '\r') return Fail();
  if (rest.size() > size + 1 && rest[size + 1] != '\n') return Fail();
  if (rest.size() < size + 2) return false;
  out.text.assign(rest.substr(0, size));
  at += size + 2;
  return true;
}

// Reads what follows an aggregate's mark: a count line and the elements. Memory grows with what has
// come, never with what a peer says will come.
bool ReplyReader::ReadElements(std::string_view bytes, size_t& at, int depth, int per_count,
                               Reply& out) {
  int64_t count;
  if (!ReadNumber(bytes, at, count)) return false;
  if (count == -1 && out.kind == Reply::Kind::kArray) {
    out.kind = Reply::Kind::kNullArray;
    return true;
  }
  if (count < 0 || count > kElementsMax || depth >= kDepthMax) return Fail();
  for (int64_t left = count * per_count; left > 0;) {
    // Depth is bounded by kDepthMax, and so is the recursion.
    Reply& element = out.elements.emplace_back();
    if (!ReadValue(bytes, at, depth + 1, element)) return false;
    if (element.kind != Reply::Kind::kAttribute) --left;  // it precedes the element it describes
  }
  return true;
}

bool ReplyReader::ReadValue(std::string_view bytes, size_t& at, int depth, Reply& out) {
  using Kind = Reply::Kind;
  if (at >= bytes.size()) return false;
  const char mark = bytes[at++];
  const auto line = [&](Kind kind, size_t bytes_max) {
    out.kind = kind;
    std::string_view text;
    if (!ReadLine(bytes, at, bytes_max, text)) return false;
    out.text.assign(text);
    return true;
  };
  const auto elements = [&](Kind kind, int per_count) {
    out.kind = kind;
    return ReadElements(bytes, at, depth, per_count, out);
  };
  switch (mark) {
    case '+':
      return line(Kind::kStatus, kBulkBytesMax);
    case '-':
      return line(Kind::kError, kBulkBytesMax);
    case ',':
      return line(Kind::kDouble, kNumberLineMax) && (IsDoubleText(out.text) || Fail());
    case '(':
      return line(Kind::kBigNumber, kBulkBytesMax);
    case '_':
      return line(Kind::kNull, 0);
    case ':':
      out.kind = Kind::kInteger;
      return ReadNumber(bytes, at, out.integer);
    case '#':
      if (!line(Kind::kBool, 1)) return false;
      if (out.text != "t" && out.text != "f") return Fail();
      out.integer = out.text == "t" ? 1 : 0;
      out.text.clear();
      return true;
    case '$':
      out.kind = Kind::kBulk;
      return ReadBlob(bytes, at, out);
    case '=':
      out.kind = Kind::kVerbatim;
      return ReadBlob(bytes, at, out) && ((out.text.size() >= 4 && out.text[3] == ':') || Fail());
    case '*':
      return elements(Kind::kArray, 1);
    case '~':
      return elements(Kind::kSet, 1);
    case '>':
      return elements(Kind::kPush, 1);
    case '%':
      return elements(Kind::kMap, 2);
    case '|':
      return elements(Kind::kAttribute, 2);
    default:
      return Fail();
  }
}

}  // namespace sluice
