// See set.h. Answers may not depend on the form: a number in an IntSet is the member that its text
// would be, and only canonical texts of integers are numbers. A set leaves a form when a member
// does not fit it, and carries all members over in one go, which their bounds keep short.
#include "storage/types/set.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "protocol/text/number_text.h"
#include "storage/keyspace/scan_order.h"
#include "storage/types/sampling.h"

namespace sluice {
namespace {

// A pack is looked through from its start, so it stays small.
constexpr size_t kPackMembersMax = 128;
constexpr size_t kPackTextMax = 64;

// In the cursors of packs, beyond all bits of others.
constexpr uint64_t kPackCursor = uint64_t{1} << kCursorBits;
// A pack is walked in an order of hashes, too, so that what comes and goes upsets none. They are no
// secret: so few members, which are looked through one by one anyway, are no target.
constexpr SipKey kPackOrder{};

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

struct NumberText {
  explicit NumberText(int64_t number) : bytes(FormatInt64(text, number) - text) {}
  std::string_view view() const ABSL_ATTRIBUTE_LIFETIME_BOUND {
    return {text, static_cast<size_t>(bytes)};
  }
  char text[kInt64TextMax];
  ptrdiff_t bytes;
};

}  // namespace

// --- reading

size_t Set::size() const {
  return std::visit(Overloaded{[](const StringPack& pack) { return pack.size(); },
                               [](const IntSet& numbers) { return numbers.size(); },
                               [](const Large& large) { return large->size(); }},
                    members_);
}

bool Set::Has(std::string_view member) const {
  return std::visit(
      Overloaded{[&](const StringPack& pack) { return pack.Find(member) != pack.end(); },
                 [&](const IntSet& numbers) {
                   const std::optional<int64_t> number = ParseInt64(member);
                   return number && numbers.contains(*number);
                 },
                 [&](const Large& large) { return large->Find(member) != nullptr; }},
      members_);
}

void Set::ForEach(Visit visit) const {
  std::visit(Overloaded{[&](const StringPack& pack) {
                          char scratch[StringPack::kTextScratch];
                          for (auto at = pack.begin(); at != pack.end(); at = pack.Next(at)) {
                            visit(pack.At(at).Text(scratch));
                          }
                        },
                        [&](const IntSet& numbers) {
                          for (size_t i = 0; i < numbers.size(); ++i) {
                            visit(NumberText(numbers.at(i)).view());
                          }
                        },
                        [&](const Large& large) {
                          large->ForEach([&](const Member& member) { visit(member.key()); });
                        }},
             members_);
}

uint64_t Set::Scan(uint64_t cursor, size_t count, Visit visit, ScanCache* cache) const {
  if (const auto* const pack = std::get_if<StringPack>(&members_))
    return ScanPack(*pack, cursor, count, visit);
  if (const Large* const large = std::get_if<Large>(&members_)) {
    if ((cursor & kPackCursor) != 0) cursor = 0;
    return (*large)->Scan(
        cursor, count, [&](const Member& member) { visit(member.key()); }, cache);
  }
  ForEach(visit);  // as Redis
  return 0;
}

uint64_t Set::ScanPack(const StringPack& pack, uint64_t cursor, size_t count, Visit visit) const {
  struct Ranked {
    uint64_t hash;
    StringPack::Position at;
  };
  const uint64_t place = PlaceOfCursor(cursor);
  char scratch[StringPack::kTextScratch];
  std::vector<Ranked> ranked;
  ranked.reserve(pack.size());
  for (auto at = pack.begin(); at != pack.end(); at = pack.Next(at)) {
    const uint64_t hash = HashName(pack.At(at).Text(scratch), kPackOrder);
    if (hash >= place) ranked.push_back({hash, at});
  }
  const size_t wanted = std::clamp<size_t>(count, 1, pack.size() + 1);
  const uint64_t stop = StopAmong(std::span(ranked), wanted, PageSlack(wanted), 0);
  for (const Ranked& item : ranked) {
    if (item.hash <= stop - 1) visit(pack.At(item.at).Text(scratch));  // 0 is the end of all
  }
  return stop == 0 ? 0 : ReverseBits(stop) | kPackCursor;
}

std::string Set::RandomMember(Random& random) const {
  return std::visit(
      Overloaded{
          [&](const StringPack& pack) {
            char scratch[StringPack::kTextScratch];
            return std::string(pack.At(pack.Nth(random() % pack.size())).Text(scratch));
          },
          [&](const IntSet& numbers) { return Int64Text(numbers.at(random() % numbers.size())); },
          [&](const Large& large) { return std::string(large->RandomMember(random)->key()); }},
      members_);
}

void Set::Draw(Random& random, absl::FunctionRef<bool(std::string_view)> visit) const {
  if (const Large* const large = std::get_if<Large>(&members_)) {
    const auto any = [](const Member&) { return true; };
    return (*large)->Draw(random, any, [&](const Member& member) { return visit(member.key()); });
  }
  std::vector<std::string> members;  // few: looked up once
  ForEach([&members](std::string_view member) { members.emplace_back(member); });
  while (visit(members[random() % members.size()])) continue;
}

void Set::Sample(size_t count, Random& random, Visit visit) const {
  if (const Large* const large = std::get_if<Large>(&members_)) {
    return (*large)->Sample(count, random, [&](const Member& member) { visit(member.key()); });
  }
  Selection selection(count, size(), random);
  ForEach([&](std::string_view member) {
    if (selection.Take()) visit(member);
  });
}

// --- changing

// Numbers stay numbers as long as all members are; the first text, or one number too many, ends
// that.
bool Set::Add(std::string_view member, const Limits& limits) {
  if (empty() || std::holds_alternative<IntSet>(members_)) {
    if (const std::optional<int64_t> number = ParseInt64(member)) {
      if (!std::holds_alternative<IntSet>(members_)) members_ = IntSet();
      if (!std::get<IntSet>(members_).Add(*number)) return false;
      if (size() > limits.integers) LeaveNumbers(*limits.hash_keys);
      return true;
    }
    if (std::holds_alternative<IntSet>(members_)) LeaveNumbers(*limits.hash_keys);
  }
  if (const Large* const large = std::get_if<Large>(&members_)) return (*large)->Put(member, {});
  if (Has(member)) return false;
  AddText(member, *limits.hash_keys);
  return true;
}

bool Set::AddSome(std::span<const std::string> members, const Limits& limits) {
  while (!members.empty() && !std::holds_alternative<Large>(members_)) {
    if (!Add(members[0], limits)) return false;
    members = members.subspan(1);
  }
  if (members.empty()) return true;
  std::array<SplitMap::Named, SplitMap::kTogetherMax> named;
  std::ranges::transform(members, named.begin(), [](const std::string& member) {
    return SplitMap::Named{member, {}};
  });
  const auto some = std::span(named).first(members.size());
  return std::get<Large>(members_)->PutTogether(some) == some.size();
}

void Set::AddText(std::string_view member, HashKeys& hash_keys) {
  if (std::holds_alternative<StringPack>(members_) &&
      (member.size() > kPackTextMax || size() >= kPackMembersMax)) {
    LeavePack(hash_keys);
  }
  if (StringPack* const pack = std::get_if<StringPack>(&members_)) {
    pack->Append(member);
  } else {
    std::get<Large>(members_)->Put(member, {});
  }
}

// Into a pack if they are few (Redis 7.0 would show a hashtable either way), else on into a map.
void Set::LeaveNumbers(HashKeys& hash_keys) {
  const IntSet numbers = std::move(std::get<IntSet>(members_));
  members_ = StringPack();
  for (size_t i = 0; i < numbers.size(); ++i) AddText(NumberText(numbers.at(i)).view(), hash_keys);
}

void Set::LeavePack(HashKeys& hash_keys) {
  auto large = std::make_unique<SplitMap>(hash_keys);
  ForEach([&large](std::string_view member) { large->Put(member, {}); });
  members_ = std::move(large);
}

// No form is gone back to, however few members are left.
bool Set::Remove(std::string_view member) {
  return std::visit(Overloaded{[&](StringPack& pack) {
                                 const auto at = pack.Find(member);
                                 if (at == pack.end()) return false;
                                 pack.Erase(at);
                                 return true;
                               },
                               [&](IntSet& numbers) {
                                 const std::optional<int64_t> number = ParseInt64(member);
                                 return number && numbers.Remove(*number);
                               },
                               [&](Large& large) { return large->Erase(member); }},
                    members_);
}

void Set::RemoveAll(std::span<const std::string> members) {
  if (const Large* const large = std::get_if<Large>(&members_)) return (*large)->EraseAll(members);
  for (const std::string& member : members) Remove(member);
}

// --- as a value

std::string_view Set::Encoding() const {
  return std::holds_alternative<IntSet>(members_) ? "intset" : "hashtable";
}

size_t Set::MemoryBytes() const {
  return sizeof(Set) +
         std::visit(
             Overloaded{[](const StringPack& pack) { return pack.MemoryBytes(); },
                        [](const IntSet& numbers) { return numbers.heap_bytes(); },
                        [](const Large& large) { return sizeof(SplitMap) + large->heap_bytes(); }},
             members_);
}

std::unique_ptr<Value> Set::Clone() const {
  auto copy = std::make_unique<Set>();
  std::visit(
      Overloaded{[&](const StringPack& pack) { copy->members_ = pack; },
                 [&](const IntSet& numbers) { copy->members_ = numbers; },
                 [&](const Large& large) { copy->members_ = std::make_unique<SplitMap>(*large); }},
      members_);
  return copy;
}

size_t Set::Elements() const {
  const Large* const large = std::get_if<Large>(&members_);
  return large ? (*large)->size() : 1;
}

size_t Set::FreeSome(size_t budget) {
  Large* const large = std::get_if<Large>(&members_);
  return large ? (*large)->FreeSome(budget) : 0;
}

std::string Set::Audit() const {
  const Large* const large = std::get_if<Large>(&members_);
  return large ? (*large)->Audit() : "";
}

}  // namespace sluice
