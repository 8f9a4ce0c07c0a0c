// See hash.h. A pack has no deadlines: the first one makes the table. From then on FieldTimes knows
// members by their address, so a member is taken out of it before its content changes, which may
// move it, and put back after (Put).
#include "storage/types/hash.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/types/sampling.h"

namespace sluice {
namespace {

constexpr size_t kEach = 2;  // elements of a pack a field

void VisitPack(const StringPack& pack, StringPack::Position at, Hash::Visit visit) {
  char name[StringPack::kTextScratch];
  char value[StringPack::kTextScratch];
  const auto value_at = pack.Next(at);
  visit(pack.At(at).Text(name), pack.At(value_at).Text(value));
}

}  // namespace

// --- reading

size_t Hash::size() const { return table_ ? table_->map.size() : pack_.size() / kEach; }

size_t Hash::CountLive(const Now& now) const {
  return has_deadlines() ? size() - table_->times->CountDue(now) : size();
}

size_t Hash::CountTimed(const Now& now) const {
  return has_deadlines() ? table_->times->size() - table_->times->CountDue(now) : 0;
}

const Member* Hash::FindLive(std::string_view name, const Now& now) const {
  const Member* const member = table_->map.Find(name);
  return member && !member->Expired(now) ? member : nullptr;
}

bool Hash::Get(std::string_view name, const Now& now, FieldValue& value) const {
  if (!table_) {
    // Every second element is a name: the search steps over values.
    const auto at = pack_.Find(name, pack_.begin(), kEach);
    if (at == pack_.end()) return false;
    value.text = pack_.At(pack_.Next(at)).Text(value.scratch);
    return true;
  }
  const Member* const member = FindLive(name, now);
  if (!member) return false;
  value.text = member->value();
  value.deadline = member->deadline();
  return true;
}

bool Hash::Has(std::string_view name, const Now& now) const {
  if (table_) return FindLive(name, now) != nullptr;
  return pack_.Find(name, pack_.begin(), kEach) != pack_.end();
}

void Hash::ForEach(const Now& now, Visit visit) const {
  if (table_) {
    return table_->map.ForEach([&](const Member& member) {
      if (!member.Expired(now)) visit(member.key(), member.value());
    });
  }
  for (auto at = pack_.begin(); at != pack_.end(); at = pack_.Next(pack_.Next(at))) {
    VisitPack(pack_, at, visit);
  }
}

uint64_t Hash::Scan(uint64_t cursor, size_t count, const Now& now, Visit visit,
                    ScanCache* cache) const {
  if (table_) {
    return table_->map.Scan(
        cursor, count,
        [&](const Member& member) {
          if (!member.Expired(now)) visit(member.key(), member.value());
        },
        cache);
  }
  ForEach(now, visit);
  return 0;
}

void Hash::Sample(size_t count, Random& random, const Now& now, Visit visit) const {
  if (table_ && !has_deadlines()) {
    return table_->map.Sample(count, random,
                              [&](const Member& member) { visit(member.key(), member.value()); });
  }
  // Fields that are over must not be chosen: with deadlines all are walked.
  Selection selection(count, CountLive(now), random);
  Scan(0, SIZE_MAX, now, [&](std::string_view name, std::string_view value) {
    if (selection.Take()) visit(name, value);
  });
}

void Hash::Draw(Random& random, const Now& now, VisitSome visit) const {
  if (!table_) return DrawFromPack(random, visit);
  table_->map.Draw(
      random, [&now](const Member& member) { return !member.Expired(now); },
      [visit](const Member& member) { return visit(member.key(), member.value()); });
}

// For a single field the pack is searched; for several it is gone through once.
void Hash::DrawFromPack(Random& random, VisitSome visit) const {
  bool more = true;
  VisitPack(pack_, pack_.Nth(random() % size() * kEach),
            [&](std::string_view name, std::string_view value) { more = visit(name, value); });
  if (!more) return;
  std::vector<StringPack::Position> fields;
  for (auto at = pack_.begin(); at != pack_.end(); at = pack_.Next(pack_.Next(at))) {
    fields.push_back(at);
  }
  while (more) {
    VisitPack(pack_, fields[random() % fields.size()],
              [&](std::string_view name, std::string_view value) { more = visit(name, value); });
  }
}

// --- changing

bool Hash::LeavePack(HashKeys& hash_keys) {
  auto table = std::make_unique<Table>(hash_keys);
  // All at once: a pack is bounded by its limits, or by 1 GiB where those were set higher.
  bool differ = true;
  ForEach({}, [&](std::string_view name, std::string_view value) {
    differ = table->map.Put(name, {.value = value}) && differ;
  });
  pack_.Clear();
  table_ = std::move(table);
  return differ;
}

// Members move when their content changes its size: the times follow.
void Hash::Put(std::string_view name, const MemberContent& content) {
  const bool timed = !content.deadline.none();
  if (timed && !table_->times) table_->times = std::make_unique<FieldTimes>();
  FieldTimes* const times = table_->times.get();
  if (times) {
    if (const Member* const old = table_->map.Find(name)) times->Remove(*old);
  }
  table_->map.Put(name, content);
  if (timed) times->Add(*table_->map.Find(name));
}

bool Hash::Set(std::string_view name, std::string_view value, const Limits& limits, const Now& now,
               Ttl ttl) {
  const size_t longest = std::max(name.size(), value.size());
  if (!table_ && (longest > limits.text_bytes || !pack_.HasRoom(name.size() + value.size()))) {
    LeavePack(*limits.hash_keys);
  }
  if (!table_) {
    const auto at = pack_.Find(name, pack_.begin(), kEach);
    if (at != pack_.end()) {
      pack_.Replace(pack_.Next(at), value);
      if (size() > limits.fields) LeavePack(*limits.hash_keys);  // the limit was lowered
      return false;
    }
    pack_.Append(name);
    pack_.Append(value);
    if (size() > limits.fields) LeavePack(*limits.hash_keys);
    return true;
  }
  if (!table_->times) {
    const bool created = table_->map.Put(name, {.value = value});
    NoteSize(longest, limits);
    return created;
  }
  const Member* const old = FindLive(name, now);
  const bool created = old == nullptr;
  const bool keeps = old && ttl == Ttl::kKeep;
  Put(name, {.value = value, .deadline = keeps ? old->deadline() : Deadline::None()});
  NoteSize(longest, limits);
  return created;
}

bool Hash::Load(std::string_view name, std::string_view value, const Limits& limits,
                const Now& now) {
  if (table_) return Set(name, value, limits, now);
  const bool fits = std::max(name.size(), value.size()) <= limits.text_bytes &&
                    size() < limits.fields && pack_.HasRoom(name.size() + value.size());
  if (!fits) return LeavePack(*limits.hash_keys) && Set(name, value, limits, now);
  pack_.Append(name);
  pack_.Append(value);
  return true;
}

bool Hash::LoadSome(std::span<const SplitMap::Named> fields, const Limits& limits, const Now& now) {
  while (!fields.empty() && (!table_ || table_->times)) {
    if (!Load(fields[0].name, *fields[0].content.value, limits, now)) return false;
    fields = fields.subspan(1);
  }
  if (fields.empty()) return true;
  const bool are_new = table_->map.PutTogether(fields) == fields.size();
  for (const SplitMap::Named& field : fields) {
    NoteSize(std::max(field.name.size(), field.content.value->size()), limits);
  }
  return are_new;
}

bool Hash::AllDiffer() const { return table_ || pack_.AllDiffer(kEach); }

void Hash::NoteSize(size_t text_bytes, const Limits& limits) {
  if (text_bytes > limits.text_bytes || size() > limits.fields) table_->counts_as_list = false;
}

bool Hash::Erase(std::string_view name, const Now& now) {
  if (!table_) {
    const auto at = pack_.Find(name, pack_.begin(), kEach);
    if (at == pack_.end()) return false;
    pack_.Erase(at, kEach);
    return true;
  }
  if (!table_->times) return table_->map.Erase(name);
  // A field whose time is over is left for the timer.
  const Member* const member = FindLive(name, now);
  if (!member) return false;
  table_->times->Remove(*member);
  return table_->map.Erase(name);
}

void Hash::SetDeadline(std::string_view name, const Deadline& deadline, const Limits& limits) {
  if (!table_) {
    if (deadline.none()) return;
    LeavePack(*limits.hash_keys);
    table_->counts_as_list = true;
  }
  const Member* const member = table_->map.Find(name);
  MemberContent content = member->content();  // views of the member's bytes, which Put allows
  content.deadline = deadline;
  Put(name, content);
}

size_t Hash::TakeExpired(const Now& now, size_t budget, Visit visit) {
  size_t taken = 0;
  if (!has_deadlines()) return taken;
  FieldTimes& times = *table_->times;
  for (; taken < budget; ++taken) {
    const Member* const member = times.FirstDue(now);
    if (!member) break;
    visit(member->key(), member->value());  // before it is freed
    times.Remove(*member);
    table_->map.Erase(member->key());
  }
  return taken;
}

// --- as a value

std::string_view Hash::Encoding() const {
  if (!table_) return "listpack";
  return table_->counts_as_list ? "listpackex" : "hashtable";
}

size_t Hash::MemoryBytes() const {
  size_t bytes = sizeof(Hash) + pack_.MemoryBytes();
  if (!table_) return bytes;
  bytes += sizeof(Table) + table_->map.heap_bytes();
  if (table_->times) bytes += sizeof(FieldTimes) + table_->times->heap_bytes();
  return bytes;
}

std::unique_ptr<Value> Hash::Clone() const {
  auto copy = std::make_unique<Hash>();
  copy->pack_ = pack_;
  if (!table_) return copy;
  copy->table_ = std::make_unique<Table>(table_->map.hash_keys());
  copy->table_->counts_as_list = table_->counts_as_list;
  table_->map.ForEach([&copy](const Member& member) { copy->Put(member.key(), member.content()); });
  return copy;
}

size_t Hash::Elements() const { return table_ ? table_->map.size() : 1; }

// First the orders of deadlines, which point at members, then the members.
size_t Hash::FreeSome(size_t budget) {
  if (!table_) return 0;
  if (has_deadlines()) return table_->times->FreeSome(budget);
  return table_->map.FreeSome(budget);
}

int64_t Hash::NextDueMs(const Now& now) const {
  return has_deadlines() ? table_->times->NextMs(now) : kNever;
}

bool Hash::IsOver(const Now& now) const {
  return has_deadlines() && table_->times->size() == table_->map.size() &&
         table_->times->AllDue(now);
}

std::string Hash::Audit() const {
  if (!table_) return pack_.size() % kEach == 0 ? "" : "a field has no value";
  if (!pack_.empty()) return "a hash has fields in two places";
  size_t timed = 0;
  table_->map.ForEach([&timed](const Member& member) { timed += member.has_deadline() ? 1 : 0; });
  if (timed != (table_->times ? table_->times->size() : 0)) {
    return "the fields with deadlines are miscounted";
  }
  if (table_->times) {
    if (std::string fault = table_->times->Audit(); !fault.empty()) return fault;
  }
  return table_->map.Audit();
}

}  // namespace sluice
