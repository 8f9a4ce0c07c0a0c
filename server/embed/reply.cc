// See server/embed/reply.h.
#include "server/embed/reply.h"

#include <algorithm>

#include "protocol/text/number_text.h"

namespace sluice {
inline namespace v1 {
namespace {

const Reply& Nothing() {
  static const Reply nothing{};
  return nothing;
}

void Quote(std::string_view bytes, std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  text.push_back('"');
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.push_back('\\');
      text.push_back(c);
    } else if (byte >= ' ' && byte < 127) {
      text.push_back(c);
    } else {
      text.append("\\x");
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
  }
  text.push_back('"');
}

void Describe(const Reply& reply, std::string& text);

void DescribeAll(const Reply& reply, std::string_view brackets, std::string& text) {
  const bool is_map = reply.kind() == Reply::Kind::kMap;
  text.push_back(brackets[0]);
  for (size_t i = 0; i < reply.size(); ++i) {
    if (i > 0) text.append(is_map && i % 2 == 1 ? " => " : ", ");
    Describe(reply.elements()[i], text);
  }
  text.push_back(brackets[1]);
}

void Describe(const Reply& reply, std::string& text) {
  switch (reply.kind()) {
    case Reply::Kind::kNull:
      text.append("(nil)");
      return;
    case Reply::Kind::kString:
      return Quote(reply.text(), text);
    case Reply::Kind::kInteger:
      text.append(Int64Text(reply.integer()));
      return;
    case Reply::Kind::kDouble: {
      char digits[kDoubleTextMax];
      text.append(digits, static_cast<size_t>(FormatDouble(digits, reply.number()) - digits));
      return;
    }
    case Reply::Kind::kMap:
      return DescribeAll(reply, "{}", text);
    case Reply::Kind::kSet:
      text.push_back('~');
      return DescribeAll(reply, "[]", text);
    case Reply::Kind::kPush:
      text.push_back('>');
      return DescribeAll(reply, "[]", text);
    case Reply::Kind::kArray:
      return DescribeAll(reply, "[]", text);
    case Reply::Kind::kError:
      text.push_back('-');
      text.append(reply.text());
  }
}

}  // namespace

int64_t Reply::integer(int64_t otherwise) const {
  if (kind_ == Kind::kInteger) return integer_;
  if (kind_ != Kind::kDouble) return otherwise;
  constexpr double kBound = 9223372036854775808.0;  // 2^63
  return double_ >= -kBound && double_ < kBound ? static_cast<int64_t>(double_) : otherwise;
}

double Reply::number(double otherwise) const {
  if (kind_ == Kind::kDouble) return double_;
  return kind_ == Kind::kInteger ? static_cast<double>(integer_) : otherwise;
}

const Reply& Reply::At(size_t index) const {
  return index < elements_.size() ? elements_[index] : Nothing();
}

const Reply& Reply::operator[](std::string_view key) const {
  if (kind_ != Kind::kMap) return Nothing();
  for (size_t i = 0; i + 1 < elements_.size(); i += 2) {
    if (elements_[i].text_ == key) return elements_[i + 1];
  }
  return Nothing();
}

std::vector<std::pair<std::string_view, const Reply*>> Reply::pairs() const {
  std::vector<std::pair<std::string_view, const Reply*>> pairs;
  pairs.reserve(elements_.size() / 2);
  for (size_t i = 0; i + 1 < elements_.size(); i += 2) {
    pairs.emplace_back(elements_[i].text(), &elements_[i + 1]);
  }
  return pairs;
}

std::string Reply::ToText() const {
  std::string text;
  Describe(*this, text);
  return text;
}

bool Reply::operator==(const Reply& other) const {
  if (kind_ != other.kind_ || text_ != other.text_ || elements_ != other.elements_) return false;
  if (kind_ == Kind::kDouble) return double_ == other.double_;
  return integer_ == other.integer_;
}

}  // namespace v1
}  // namespace sluice
