// Sorted sets in RDB form: see rdb_collections.h. A large one is written from the highest score
// down, as Redis does.
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/number_text.h"
#include "storage/listpack/listpack.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_sequence.h"

namespace sluice {
namespace {

// Member and score in turn; the score is text, which ParseDouble has to take whole. All at once, as
// a small set would be looked through for each of its members.
bool ReadPackedScores(RdbReader& reader, RdbSequence form, const RdbContext& context,
                      SortedSet& set) {
  std::vector<std::string> names;
  std::vector<NewMember> members;
  const bool whole = ReadSequence(reader, form, [&](std::string_view text) {
    if (names.size() == members.size()) {
      names.emplace_back(text);
      return true;
    }
    const std::optional<double> score = ParseDouble(text);
    members.push_back({{}, score.value_or(0)});
    return score.has_value();
  });
  if (!whole || names.size() != members.size()) return false;
  for (size_t i = 0; i < members.size(); ++i) members[i].name = names[i];
  return set.Load(members, context.sorted_set);
}

// Some at a time, as a large set is slow to be looked into. NaN would break the order of every
// member: a fault.
bool ReadScores(RdbReader& reader, bool as_text, const RdbContext& context, SortedSet& set) {
  std::array<std::string, NewMember::kTogetherMax> names;
  std::vector<NewMember> members;
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    std::string& name = names[members.size()];
    name = reader.String();
    members.push_back({name, as_text ? reader.TextDouble() : reader.Double()});
    if (reader.failed() || std::isnan(members.back().score)) return false;
    if (members.size() < names.size() && left > 1) continue;
    if (!set.Add(members, context.sorted_set)) return false;
    members.clear();
  }
  return reader.ok();
}

// Whole scores are packed as integers, as Redis does, also where they are told as "1e+17".
std::string PackedScore(double score) {
  constexpr double kWholeMax = 0x1p62;
  const bool whole = std::abs(score) <= kWholeMax && score == std::trunc(score);
  if (!whole || score == 0) return DoubleText(score);  // which knows of -0
  return std::to_string(static_cast<int64_t>(score));
}

}  // namespace

// Scores of a large set are eight bytes each, those of a small one texts of its listpack.
void WriteSortedSet(const SortedSet& set, RdbWriter& writer) {
  if (set.Encoding() == "listpack") {
    ListpackWriter listpack;
    set.ForEach(set.All(), SortedSet::Direction::kUp, [&](std::string_view name, double score) {
      listpack.Text(name);
      listpack.Text(PackedScore(score));
      return true;
    });
    writer.Type(RdbType::kSortedSetListpack);
    return writer.String(listpack.Finish());
  }
  writer.Type(RdbType::kSortedSet);
  writer.Length(set.size());
  set.ForEach(set.All(), SortedSet::Direction::kDown, [&](std::string_view name, double score) {
    writer.String(name);
    writer.Double(score);
    return true;
  });
}

std::unique_ptr<Value> ReadSortedSet(RdbType type, RdbReader& reader, const RdbContext& context) {
  auto set = std::make_unique<SortedSet>();
  bool whole = false;
  switch (type) {
    case RdbType::kSortedSetListpack:
      whole = ReadPackedScores(reader, RdbSequence::kListpack, context, *set);
      break;
    case RdbType::kSortedSetZiplist:
      whole = ReadPackedScores(reader, RdbSequence::kZiplist, context, *set);
      break;
    default:
      whole = ReadScores(reader, type == RdbType::kSortedSetText, context, *set);
  }
  if (!whole) reader.Fail();
  if (!whole || set->empty()) return nullptr;
  return set;
}

}  // namespace sluice
