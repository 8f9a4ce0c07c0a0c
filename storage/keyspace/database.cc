// The functions that handlers call: see database.h. How blocks, timers and counts follow is in
// database_upkeep.cc.
#include "storage/keyspace/database.h"

#include <cassert>
#include <limits>

#include "absl/base/attributes.h"
#include "absl/base/macros.h"
#include "protocol/text/number_text.h"
#include "storage/hashing/key_hash.h"
#include "storage/keyspace/packed_value.h"
#include "storage/memory/packed_pointer.h"

namespace sluice {
namespace {

using Form = EntryPayload::Form;

// A value that shrinks goes back into its entry when it takes so little of it that it won't soon
// have to move out again.
constexpr size_t kPackedAgainMax = Entry::kInlineBytesMax * 5 / 8;

// --- payloads whose bytes have to be made: they point into themselves

// In 4 bytes where that is enough and nothing wider was there (`wide`), else in 8.
class IntegerPayload : public EntryPayload {
 public:
  IntegerPayload(int64_t integer, bool wide) {
    const auto narrow = static_cast<int32_t>(integer);
    form = narrow == integer && !wide ? Form::kInt32 : Form::kInt64;
    const size_t size = form == Form::kInt32 ? sizeof(narrow) : sizeof(integer);
    std::memcpy(buffer_, form == Form::kInt32 ? static_cast<const void*>(&narrow) : &integer, size);
    bytes = {buffer_, size};
  }
  IntegerPayload(const IntegerPayload&) = delete;

 private:
  char buffer_[8];
};

// The field is an address and a count, 6 bytes each. The count is 0 until AccountOutside sets it.
class OutsidePayload : public EntryPayload {
 public:
  OutsidePayload(ValueType of_type, const void* object, bool is_raw) {
    type = of_type;
    form = Form::kOutside;
    raw = is_raw;
    const PackedPointer address(object);
    std::memcpy(buffer_, &address, sizeof(address));
    bytes = {buffer_, sizeof(buffer_)};
  }
  OutsidePayload(const OutsidePayload&) = delete;

 private:
  char buffer_[Entry::kOutsideBytes] = {};  // not accounted yet
};

EntryPayload InlineText(std::string_view text) {
  return {ValueType::kString, Form::kInline, false, text};
}

EntryPayload PackedValue(ValueType type, std::string_view packed) {
  return {type, Form::kInline, false, packed};
}

// Most texts are no integers, and most of those show it at once.
bool MayBeInteger(std::string_view text) {
  return !text.empty() && text.size() <= kInt64TextMax &&
         (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

}  // namespace

void KeyspaceState::ReadAccessClock(const Now& at) {
  clock_read_us = at.steady_us;
  clock_read = AccessClock(at);
}

// --- reading

const Entry* Database::Find(const HashedKey& key, const Now& now) {
  // The usual way reads and leaves no mark. A key that is over goes the long way, which removes it.
  Entry* const entry = Suggested(key);
  if (entry && !entry->Expired(now)) [[likely]]
    return entry;
  return FindLiveInTable(key, now);
}

const Entry* Database::FindAndTouch(const HashedKey& key, const Now& now) {
  // The usual way calls nothing.
  TellLookUp(key.bytes);
  state_.now = now;
  Entry* const entry = Suggested(key);
  if (!entry || entry->Expired(now)) [[unlikely]]
    return FindInTableAndTouch(key, now);
  if (!state_.MarksByClockOf(now)) [[unlikely]]
    return &Touched(*entry, now);
  entry->set_access_clock(static_cast<uint32_t>(state_.clock_read));
  return entry;
}

size_t Database::size() const { return table_.size(); }

size_t Database::volatile_size() const { return volatile_; }

int64_t Database::MeanTtlMs(const Now& now) const {
  constexpr size_t kSampleMin = 2'000;
  constexpr size_t kPage = 100;
  if (volatile_ == 0) return 0;
  __int128 sum_ms = 0;
  int64_t count = 0;
  size_t seen = 0;
  uint64_t cursor = 0;
  do {
    cursor = Scan(cursor, kPage, [&](const Entry& entry) {
      ++seen;
      if (!entry.is_volatile()) return;
      sum_ms += std::max<int64_t>(entry.deadline().LeftMs(now), 0);
      ++count;
    });
  } while (cursor != 0 && seen < kSampleMin);
  return count == 0 ? 0 : static_cast<int64_t>(sum_ms / count);
}

void Database::ForEach(absl::FunctionRef<void(const Entry&)> visit) const {
  table_.ForEach([visit](Entry& entry) { visit(entry); });
}

uint64_t Database::Scan(uint64_t cursor, size_t count,
                        absl::FunctionRef<void(const Entry&)> visit) const {
  return table_.Scan(cursor, count, visit, &state_.scan_cache);
}

const Entry* Database::RandomEntry(Random& random) const { return table_.RandomEntry(random); }

// --- writing

Entry* Database::Modify(HashedKey key, const Now& now) {
  Entry* entry = FindLive(key, now);
  if (entry == nullptr) return nullptr;
  state_.image.BeforeChange(*entry);
  Touch(key.bytes);
  MarkAccess(*entry, now);
  return entry;
}

Entry& Database::Modify(const Entry& found, const Now& now) {
  assert(!found.Expired(now));
  Entry& entry = const_cast<Entry&>(found);  // ours: only readers are shown it as const
  state_.image.BeforeChange(entry);
  state_.now = now;
  Touch(entry.key());
  MarkAccess(entry, now);
  return entry;
}

Entry& Database::ModifyUnseen(const Entry& found, const Now& now) {
  assert(!found.Expired(now));
  Entry& entry = const_cast<Entry&>(found);
  state_.image.BeforeChange(entry);
  state_.now = now;
  ++state_.changes;
  MarkAccess(entry, now);
  return entry;
}

// What is written most: a short text over one of its length, neither of which ends.
inline bool Database::PutInPlace(Entry* entry, const HashedKey& key, std::string_view text,
                                 Deadline deadline, const Now& now) {
  if (entry == nullptr || !deadline.none() || !entry->HasTextRoom(text.size()) ||
      MayBeInteger(text))
    return false;
  state_.image.BeforeChange(*entry);
  Touch(key.bytes);
  entry->OverwriteText(text);
  MarkAccess(*entry, now);
  return true;
}

// Mostly it is a short text: from the command to PutOver in one step.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Entry& Database::PutTextAt(Entry* entry, const HashedKey& key,
                                                               std::string_view text,
                                                               Deadline deadline, const Now& now) {
  if (MayBeInteger(text)) {
    // Canonical forms alone: "007" and "+7" stay text, so that GET gives back what was set.
    if (const auto integer = ParseInt64(text))
      return PutOver(entry, key, IntegerPayload(*integer, false), deadline, now);
  }
  if (text.size() <= Entry::kInlineBytesMax) [[likely]]
    return PutOver(entry, key, InlineText(text), deadline, now);
  return PutTextAsIsAt(entry, key, text, deadline, now);
}

Entry& Database::PutText(const HashedKey& key, std::string_view text, Deadline deadline,
                         const Now& now) {
  Entry* const entry = FindToReplace(key, now);
  if (PutInPlace(entry, key, text, deadline, now)) return *entry;
  return PutTextAt(entry, key, text, deadline, now);
}

Entry& Database::PutTextOver(const Entry* found, const HashedKey& key, std::string_view text,
                             Deadline deadline, const Now& now) {
  if (found == nullptr && HidesEntries()) return PutText(key, text, deadline, now);
  assert(table_.Find(key) == found);
  state_.now = now;
  return PutTextAt(const_cast<Entry*>(found), key, text, deadline, now);
}

Entry& Database::PutTextAsIs(const HashedKey& key, std::string_view text, Deadline deadline,
                             const Now& now) {
  return PutTextAsIsAt(FindToReplace(key, now), key, text, deadline, now);
}

Entry& Database::PutTextAsIsAt(Entry* entry, const HashedKey& key, std::string_view text,
                               Deadline deadline, const Now& now) {
  if (text.size() <= Entry::kInlineBytesMax)
    return PutOver(entry, key, InlineText(text), deadline, now);
  // A long text over one of about its length: its block is written over, and no new one is made.
  if (entry != nullptr && HasRoomFor(*entry, text)) {
    state_.image.BeforeChange(*entry);
    Touch(key.bytes);
    MarkAccess(*entry, now);
    AssignInPlace(*entry, text);
    return SetDeadline(*entry, deadline);
  }
  auto* copy = new TextBlock(text);
  return PutOver(entry, key, OutsidePayload(ValueType::kString, copy, false), deadline, now);
}

Entry& Database::PutRawText(HashedKey key, TextBlock text, Deadline deadline, const Now& now) {
  auto* const block = new TextBlock(std::move(text));
  return Put(key, OutsidePayload(ValueType::kString, block, true), deadline, now);
}

Entry& Database::PutInteger(HashedKey key, int64_t integer, Deadline deadline, const Now& now) {
  return Put(key, IntegerPayload(integer, false), deadline, now);
}

Entry& Database::PutValue(HashedKey key, std::unique_ptr<Value> value, Deadline deadline,
                          const Now& now) {
  return PutValueOver(FindToReplace(key, now), key, std::move(value), deadline, now);
}

Entry& Database::PutValueOver(Entry* found, const HashedKey& key, std::unique_ptr<Value> value,
                              Deadline deadline, const Now& now) {
  const ValueType type = value->type();
  assert(type != ValueType::kString);
  // Small limiters and buckets pack themselves; all other types answer 0 here and stay objects.
  char bytes[Entry::kInlineBytesMax];
  if (const size_t size = value->Pack(bytes, sizeof(bytes)))
    return PutOver(found, key, PackedValue(type, {bytes, size}), deadline, now);
  Entry& entry = PutOver(found, key, OutsidePayload(type, value.release(), false), deadline, now);
  entry.value().HeldBy(entry);
  SetValueTimer(entry);
  return entry;
}

Entry& Database::PutPacked(HashedKey key, ValueType type, std::string_view packed,
                           Deadline deadline, const Now& now) {
  return Put(key, PackedValue(type, packed), deadline, now);
}

Entry& Database::AddValue(HashedKey key, std::unique_ptr<Value> value, Deadline deadline,
                          const Now& now) {
  if (HidesEntries()) return PutValue(key, std::move(value), deadline, now);
  assert(table_.Find(key) == nullptr);
  state_.now = now;
  return PutValueOver(nullptr, key, std::move(value), deadline, now);
}

Entry& Database::AddPacked(HashedKey key, ValueType type, std::string_view packed,
                           Deadline deadline, const Now& now) {
  if (HidesEntries()) return PutPacked(key, type, packed, deadline, now);
  assert(table_.Find(key) == nullptr);
  state_.now = now;
  return PutOver(nullptr, key, PackedValue(type, packed), deadline, now);
}

Entry& Database::SetPacked(Entry& entry, std::string_view packed, Deadline deadline) {
  assert(!deadline.none() && !entry.is_string());
  // The hot path of limiters and buckets: as many bytes as before, and an end that moves away.
  if (deadline.kind == Deadline::Kind::kSteady && deadline.ms <= TimerWheel::kDeadlineMsMax &&
      entry.is_packed() && entry.HasLayout(true, false, packed.size()) && entry.timer().linked() &&
      deadline.ms >= entry.timer().deadline_ms()) [[likely]] {
    std::memmove(entry.base() + entry.value_offset(), packed.data(), packed.size());
    state_.wheel.Postpone(entry.timer(), deadline.ms);
    return entry;
  }
  deadline = Storable(deadline);
  const bool is_absolute = deadline.kind == Deadline::Kind::kUnix;
  Entry& result = Overwrite(entry, PackedValue(entry.type(), packed), true, is_absolute);
  Arm(result, deadline);
  return result;
}

Entry& Database::SetValue(Entry& entry, std::unique_ptr<Value> value) {
  assert(value->type() == entry.type());
  Entry& result =
      OverwriteKeepingDeadline(entry, OutsidePayload(entry.type(), value.release(), false));
  result.value().HeldBy(result);
  SetValueTimer(result);
  return result;
}

Entry& Database::PackIfSmall(Entry& entry) {
  char bytes[kPackedAgainMax];
  const size_t size = entry.value().Pack(bytes, sizeof(bytes));
  if (size == 0) return entry;
  return OverwriteKeepingDeadline(entry, PackedValue(entry.type(), {bytes, size}));
}

Entry& Database::SetText(Entry& entry, std::string_view text) {
  if (text.size() <= Entry::kInlineBytesMax)
    return OverwriteKeepingDeadline(entry, InlineText(text));
  if (HasRoomFor(entry, text)) {
    AssignInPlace(entry, text);
    return entry;
  }
  auto* copy = new TextBlock(text);
  return OverwriteKeepingDeadline(entry, OutsidePayload(ValueType::kString, copy, false));
}

Entry& Database::SetInteger(Entry& entry, int64_t integer) {
  if (entry.OverwriteInteger(integer)) [[likely]]
    return entry;
  // One that has its 8 bytes keeps them: a counter around zero would go back and forth.
  const bool wide = entry.is_integer() && entry.form() == Form::kInt64;
  return OverwriteKeepingDeadline(entry, IntegerPayload(integer, wide));
}

TextBlock& Database::MutableText(Entry*& entry) {
  ABSL_HARDENING_ASSERT(entry->is_string());
  if (entry->outside()) {
    EntryPayload payload = entry->payload();
    payload.raw = true;
    entry->Store(payload);
  } else {
    // Out into a block: APPEND, SETRANGE and SETBIT are likely to make it longer again.
    char scratch[Entry::kTextScratch];
    auto* copy = new TextBlock(entry->Text(scratch));
    entry = &OverwriteKeepingDeadline(*entry, OutsidePayload(ValueType::kString, copy, true));
  }
  return *entry->outside_text();
}

void Database::TextChanged(Entry& entry) { AccountOutside(entry); }

void Database::MakeRaw(const Entry& found, const Now& now) {
  if (found.is_raw()) return;
  state_.now = now;
  Entry* entry = const_cast<Entry*>(&found);
  MutableText(entry);
  TextChanged(*entry);
}

void Database::ValueChanged(Entry& entry) {
  AccountOutside(entry);
  SetValueTimer(entry);
}

void Database::Discard(std::unique_ptr<Value> part) {
  // Its value's bytes fall with the next ValueChanged; until it is freed the part counts for
  // itself.
  const size_t bytes = part->MemoryBytes();
  state_.memory_bytes += bytes;
  state_.reclaimer.Take(std::move(part), bytes);
}

Entry& Database::SetDeadline(Entry& entry, Deadline deadline) {
  if (!entry.is_string()) deadline = NotAfterItsEnd(entry, deadline);
  deadline = Storable(deadline);
  const bool is_volatile = !deadline.none();
  const bool is_absolute = deadline.kind == Deadline::Kind::kUnix;
  Entry& result = entry.HasLayout(is_volatile, is_absolute, entry.value_length_)
                      ? entry
                      : Reshape(entry, entry.payload(), is_volatile, is_absolute);
  if (is_volatile) Arm(result, deadline);
  return result;
}

bool Database::Delete(HashedKey key, const Now& now) {
  Entry* entry = FindToReplace(key, now);
  if (entry == nullptr) return false;
  Touch(key.bytes);
  Remove(*entry, key.hash);
  return true;
}

void Database::DeleteFound(const Entry& entry, uint64_t hash) {
  Touch(entry.key());
  Remove(const_cast<Entry&>(entry), hash);
}

void Database::SetAccessClock(Entry& entry, uint32_t seconds) { entry.set_access_clock(seconds); }

// --- changing

void Database::MarkNew(Entry& entry, const Now& now) {
  if (counts_accesses()) [[unlikely]]
    return SetAccessCounter(entry, AccessCount::kOfNewKey, now);
  MarkAccess(entry, now);
}

Entry& Database::PutOver(Entry* entry, const HashedKey& key, const EntryPayload& payload,
                         Deadline deadline, const Now& now) {
  Touch(key.bytes);
  deadline = Storable(deadline);
  const bool is_volatile = !deadline.none();
  const bool is_absolute = deadline.kind == Deadline::Kind::kUnix;
  if (entry != nullptr) {
    state_.image.BeforeChange(*entry);
    entry = &Overwrite(*entry, payload, is_volatile, is_absolute);
    MarkAccess(*entry, now);
  } else {
    const EntryShape shape{is_volatile, is_absolute, key.bytes.size(), payload.bytes.size()};
    const size_t block_bytes = shape.BlockBytes();
    entry = Entry::Make(shape, block_bytes, key.bytes, payload, id_);
    // Born after the instant of an image: it is not to be given to it.
    entry->set_mark(state_.image.mark());
    state_.memory_bytes += block_bytes;
    Adopt(*entry, key.hash);
    if (entry->outside()) AccountOutside(*entry);
    MarkNew(*entry, now);
    state_.observer.KeyCreated(index_, key.bytes);
  }
  // Last, at the entry's final address: from now on its neighbours in the wheel point to it.
  if (is_volatile) Arm(*entry, deadline);
  return *entry;
}

// A long text has a TextBlock already that is neither too small nor much too large for the new
// one.
bool Database::HasRoomFor(const Entry& entry, std::string_view text) {
  if (!entry.is_string() || !entry.outside()) return false;
  const size_t capacity = entry.outside_text()->capacity();
  return text.size() <= capacity && capacity / 2 <= text.size();
}

// SET makes a text that was raw an embstr or raw by its length again, as in Redis.
void Database::AssignInPlace(Entry& entry, std::string_view text) {
  entry.outside_text()->Assign(text);
  EntryPayload payload = entry.payload();
  payload.raw = false;
  entry.Store(payload);
  AccountOutside(entry);
}

Entry& Database::Overwrite(Entry& entry, const EntryPayload& payload, bool is_volatile,
                           bool is_absolute) {
  if (payload.may_end != entry.has(Entry::kMayEnd)) [[unlikely]]
    timed_values_ += payload.may_end ? 1 : -1;
  if (!entry.outside() && payload.form != Form::kOutside &&
      entry.HasLayout(is_volatile, is_absolute, payload.bytes.size())) [[likely]] {
    entry.Store(payload);
    return entry;
  }
  // A payload that is this very field takes the object along.
  const bool had_outside = entry.outside() && payload.bytes.data() != entry.value_field();
  const size_t accounted = had_outside ? entry.accounted() : 0;
  TextBlock* text = had_outside && entry.is_string() ? entry.outside_text() : nullptr;
  Value* value = had_outside && !entry.is_string() ? entry.outside_value() : nullptr;
  if (value != nullptr) RetireValue(state_, *value);

  Entry& result = Reshape(entry, payload, is_volatile, is_absolute);
  // Only now: the payload may have been a view of it (SetText with a part of the old text).
  if (value != nullptr) state_.reclaimer.Take(std::unique_ptr<Value>(value), accounted);
  if (text != nullptr) state_.reclaimer.Take(std::unique_ptr<TextBlock>(text), accounted);
  if (result.outside()) AccountOutside(result);
  return result;
}

void Database::ReplaceOutside(Entry& entry, const void* object) {
  assert(entry.outside());
  FollowEntry(OverwriteKeepingDeadline(
      entry, OutsidePayload(entry.type(), object, entry.has(Entry::kRaw))));
}

Entry& Database::OverwriteKeepingDeadline(Entry& entry, const EntryPayload& payload) {
  return Overwrite(entry, payload, entry.is_volatile(), entry.absolute());
}

// Steady deadlines beyond the 48 bits of a timer are kept as Unix times: 8,900 years from now the
// difference is not going to be noticed.
Deadline Database::Storable(Deadline deadline) const {
  if (deadline.kind != Deadline::Kind::kSteady || deadline.ms <= TimerWheel::kDeadlineMsMax)
    return deadline;
  return Deadline::Unix(deadline.UnixMs(state_.now));
}

// EXPIRE can shorten the life of a limiter or a bucket and never lengthen it: beyond its end it has
// nothing to remember. PERSIST gives it back its own end.
Deadline Database::NotAfterItsEnd(const Entry& entry, Deadline deadline) const {
  const Now& now = state_.now;
  const std::unique_ptr<Value> unpacked =
      entry.is_packed() ? UnpackValue(entry.type(), entry.packed()) : nullptr;
  const Value& value = unpacked ? *unpacked : entry.value();
  const int64_t end_ms = value.EndsAtMs(now);
  if (end_ms == kEndsNever) return deadline;
  const Deadline end = value.EndsByWallClock() ? Deadline::Unix(end_ms + now.unix_offset_ms)
                                               : Deadline::Steady(end_ms);
  return deadline.none() || deadline.LeftMs(now) >= end.LeftMs(now) ? end : deadline;
}

}  // namespace sluice
