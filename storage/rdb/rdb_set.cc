// Sets in RDB form: see rdb_collections.h. An intset is written sorted and as narrow as its numbers
// allow.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_sequence.h"

namespace sluice {
namespace {

// Redis's intset of 5, 300 and 70000: width 04000000, count 03000000, 05000000 2c010000 70110100.
std::string IntsetOf(const Set& set) {
  std::vector<int64_t> numbers;
  set.ForEach([&](std::string_view text) { numbers.push_back(ParseInt64(text).value_or(0)); });
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const auto fits = [least = *least, most = *most](int bits) {
    const int64_t limit = int64_t{1} << (bits - 1);
    return least >= -limit && most < limit;
  };
  const uint64_t width = fits(16) ? 2 : fits(32) ? 4 : 8;
  std::string bytes;
  const auto write = [&bytes](uint64_t value, uint64_t width) {
    for (uint64_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> 8 * i & 255));
  };
  write(width, 4);
  write(numbers.size(), 4);
  for (const int64_t number : numbers) write(static_cast<uint64_t>(number), width);
  return bytes;
}

}  // namespace

void WriteSet(const Set& set, RdbWriter& writer) {
  if (set.Encoding() == "intset") {
    writer.Type(RdbType::kSetIntset);
    return writer.String(IntsetOf(set));
  }
  writer.Type(RdbType::kSet);
  writer.Length(set.size());
  set.ForEach([&](std::string_view member) { writer.String(member); });
}

// Whatever the form was, Set::Add decides the encoding anew; a member that is there twice is a
// fault.
std::unique_ptr<Value> ReadSet(RdbType type, RdbReader& reader, const RdbContext& context) {
  const RdbSequence form = type == RdbType::kSetIntset     ? RdbSequence::kIntset
                           : type == RdbType::kSetListpack ? RdbSequence::kListpack
                                                           : RdbSequence::kStrings;
  auto set = std::make_unique<Set>();
  const auto add = [&](std::string_view member) { return set->Add(member, context.set); };
  const auto add_some = [&](std::span<const std::string> members) {
    return set->AddSome(members, context.set);
  };
  const bool whole = form == RdbSequence::kStrings ? ReadTogether(reader, form, add_some)
                                                   : ReadSequence(reader, form, add);
  if (!whole || set->empty()) return nullptr;
  return set;
}

}  // namespace sluice
