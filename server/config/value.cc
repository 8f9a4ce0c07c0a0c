// See value.h. A value is first made canonical text, which refuses what does not fit its shape, and
// then stored; lists have codecs of their own (lists.h).
#include "server/config/value.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

using Kind = OptionShape::Kind;

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// Redis's units: with a "b" they are powers of 1024, without it powers of 1000.
struct Unit {
  std::string_view name;
  uint64_t bytes;
};
constexpr Unit kUnits[] = {{"", 1},           {"b", 1},
                           {"k", 1000},       {"kb", 1024},
                           {"m", 1000000},    {"mb", 1024 * 1024},
                           {"g", 1000000000}, {"gb", 1024 * 1024 * 1024}};

// At most 22 digits.
std::string OctalText(int64_t value) {
  char text[24];
  return std::string(text, std::to_chars(text, text + sizeof text, value, 8).ptr);
}

// Modes of files are shown in octal.
std::string OutOfRange(const OptionShape& shape) {
  const bool octal = shape.kind == Kind::kOctal;
  return Concat("argument must be between ", octal ? OctalText(shape.low) : Int64Text(shape.low),
                " and ", octal ? OctalText(shape.high) : Int64Text(shape.high), " inclusive");
}

// strtoll with base 8, whole text.
std::optional<int64_t> ParseOctal(std::string_view text) {
  int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (text.empty()) return 0;
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A row for each kind of number: how it is read, and what is said of a text that is none.
struct NumberKind {
  Kind kind;
  std::optional<int64_t> (*parse)(std::string_view text);
  std::string_view fault;
};

// Options are signed numbers, even those of sizes.
std::optional<int64_t> ParseSignedMemory(std::string_view text) {
  const std::optional<uint64_t> bytes = ParseMemory(text);
  if (!bytes) return std::nullopt;
  return static_cast<int64_t>(*bytes);  // beyond 2^63: negative, out of every range
}

// A percentage is a negative number, as in Redis.
std::optional<int64_t> ParseMemoryOrPercent(std::string_view text) {
  if (text.size() > 1 && text.ends_with('%')) {
    const std::optional<int64_t> percent = ParseInt64(text.substr(0, text.size() - 1));
    if (percent && *percent >= 0) return -*percent;
    return std::nullopt;
  }
  return ParseSignedMemory(text);
}

constexpr NumberKind kNumberKinds[] = {
    {Kind::kInteger, ParseInt64, "argument couldn't be parsed into an integer"},
    {Kind::kMemory, ParseSignedMemory, "argument must be a memory value"},
    {Kind::kMemoryOrPercent, ParseMemoryOrPercent, "argument must be a memory or percent value"},
    {Kind::kOctal, ParseOctal, "argument couldn't be parsed as an octal number"},
};

// First the form, then the range, as Redis's sentences show.
std::optional<std::string> CanonicalNumber(const OptionShape& shape, std::string_view text,
                                           std::string& fault) {
  for (const NumberKind& row : kNumberKinds) {
    if (row.kind != shape.kind) continue;
    std::optional<int64_t> value = row.parse(text);
    if (!value) {
      fault = row.fault;
      return std::nullopt;
    }
    const bool percent = row.kind == Kind::kMemoryOrPercent && *value < 0;
    if (*value < shape.low || *value > shape.high) {
      fault = percent ? Concat("percentage argument must be less or equal to ", -shape.low)
                      : OutOfRange(shape);
      return std::nullopt;
    }
    if (percent) return Concat(-*value, '%');
    value = std::clamp(*value, shape.least, shape.most);
    return row.kind == Kind::kOctal ? OctalText(*value) : Int64Text(*value);
  }
  return std::nullopt;
}

// In any case; the fault lists all words.
std::optional<std::string> CanonicalWord(OptionWords words, std::string_view text,
                                         std::string& fault) {
  fault = "argument(s) must be one of the following: ";
  for (const std::string_view word : words) {
    if (EqualsIgnoringCase(word, text)) return std::string(word);
    ConcatTo(fault, word, word == words.back() ? "" : ", ");
  }
  return std::nullopt;
}

// In any case, as other words.
std::optional<std::string> CanonicalYesNo(std::string_view text, std::string& fault) {
  for (const std::string_view word : {"yes", "no"}) {
    if (EqualsIgnoringCase(word, text)) return std::string(word);
  }
  fault = "argument must be 'yes' or 'no'";
  return std::nullopt;
}

// The words of a list, joined with single spaces.
std::optional<std::string> CanonicalText(const OptionShape& shape, OptionValues values,
                                         std::string& fault) {
  if (shape.check && !(fault = shape.check(values)).empty()) return std::nullopt;
  std::string joined;
  for (const std::string& value : values) ConcatTo(joined, joined.empty() ? "" : " ", value);
  return joined;
}

}  // namespace

// As a C string, which Redis reads: what stands behind a zero byte is not seen.
std::optional<uint64_t> ParseMemory(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + digits, number).ec ==
      std::errc::result_out_of_range) {
    number = UINT64_MAX;
  }
  for (const Unit& unit : kUnits) {
    if (EqualsIgnoringCase(unit.name, text.substr(digits))) return number * unit.bytes;
  }
  return std::nullopt;
}

// For a file that people read: "64mb" and not "67108864".
std::string MemoryText(uint64_t bytes) {
  constexpr Unit kExact[] = {{"gb", 1ull << 30}, {"mb", 1ull << 20}, {"kb", 1ull << 10}};
  for (const Unit& unit : kExact) {
    if (bytes > 0 && bytes % unit.bytes == 0) return Concat(bytes / unit.bytes, unit.name);
  }
  return Concat(bytes);
}

// The form that CONFIG GET shows later. A caller has made sure that there is a value.
std::optional<std::string> Canonical(const OptionShape& shape, OptionValues values,
                                     std::string& fault) {
  switch (shape.kind) {
    case Kind::kYesNo:
      return CanonicalYesNo(values[0], fault);
    case Kind::kWord:
      return CanonicalWord(shape.words, values[0], fault);
    case Kind::kText:
    case Kind::kList:
      return CanonicalText(shape, values, fault);
    default:
      return CanonicalNumber(shape, values[0], fault);
  }
}

namespace {

// ReadField and WriteField, a visitor each.
struct Reader {
  Settings& settings;
  const std::string& text;  // canonical
  bool octal;

  void operator()(std::monostate) const {}
  void operator()(bool Settings::*field) const { settings.*field = text == "yes"; }
  void operator()(int64_t Settings::*field) const {
    std::from_chars(text.data(), text.data() + text.size(), settings.*field, octal ? 8 : 10);
  }
  void operator()(uint64_t Settings::*field) const {
    std::from_chars(text.data(), text.data() + text.size(), settings.*field);
  }
  void operator()(std::string Settings::*field) const { settings.*field = text; }
  void operator()(const OptionCodec*) const {}
};

struct Writer {
  const Settings& settings;
  bool octal;

  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool Settings::*field) const { return settings.*field ? "yes" : "no"; }
  std::string operator()(int64_t Settings::*field) const {
    return octal ? OctalText(settings.*field) : Int64Text(settings.*field);
  }
  std::string operator()(uint64_t Settings::*field) const { return Concat(settings.*field); }
  std::string operator()(std::string Settings::*field) const { return settings.*field; }
  std::string operator()(const OptionCodec* codec) const { return codec->write(settings); }
};

}  // namespace

// On a fault the settings are as before, but for a list's codec, which may stop in the middle.
std::string ReadField(const Option& option, OptionValues values, Settings& settings) {
  if (const auto* codec = std::get_if<const OptionCodec*>(&option.field)) {
    return (*codec)->read(values, settings);
  }
  std::string fault;
  const std::optional<std::string> text = Canonical(option.shape, values, fault);
  if (!text) return fault;
  std::visit(Reader{settings, *text, option.shape.kind == Kind::kOctal}, option.field);
  return {};
}

std::string WriteField(const Option& option, const Settings& settings) {
  return std::visit(Writer{settings, option.shape.kind == Kind::kOctal}, option.field);
}

// Two spaces in a row have an empty piece between them, which the option then refuses.
std::vector<std::string> SplitAtSpaces(std::string_view text) {
  std::vector<std::string> pieces;
  if (text.empty()) return pieces;
  for (size_t from = 0;;) {
    const size_t to = text.find(' ', from);
    pieces.emplace_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return pieces;
    from = to + 1;
  }
}

}  // namespace sluice
