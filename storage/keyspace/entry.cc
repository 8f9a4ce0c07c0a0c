// See entry.h for the layout. Every field behind the header is read and written with memcpy: where
// it stands depends on the flags, so nothing there is aligned. The block's size is a function of
// its shape alone; a change of shape makes a new block.
#include "storage/keyspace/entry.h"

#include <cassert>
#include <cstdlib>
#include <limits>
#include <new>

#include "protocol/text/number_text.h"
#include "storage/keyspace/packed_value.h"
#include "storage/memory/block_size.h"

namespace sluice {
namespace {

using Form = EntryPayload::Form;

// Up to that OBJECT ENCODING answers embstr, beyond it raw. It decides nothing else here.
constexpr size_t kEmbeddedTextMax = 44;  // Redis's OBJ_ENCODING_EMBSTR_SIZE_LIMIT
// An entry's share of its segment: 7 bytes a slot at the mean load.
constexpr size_t kSlotShareBytes = 12;

// Deadlines come from clients: their sums stay at the ends of int64 instead of wrapping to the
// past.
int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b > 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace

// --- Deadline

int64_t Deadline::LeftMs(const Now& now) const {
  assert(!none());
  return SaturatingSubtract(ms, kind == Kind::kSteady ? now.ms() : now.unix_ms());
}

int64_t Deadline::UnixMs(const Now& now) const {
  assert(!none());
  return kind == Kind::kUnix ? ms : SaturatingAdd(ms, now.unix_offset_ms);
}

// --- blocks

// Header, timer, Unix deadline, long key length, key, value; as much as malloc gives.
size_t EntryShape::BlockBytes() const {
  const size_t bytes = Entry::kHeaderBytes + (is_volatile ? sizeof(TimerNode) : 0) +
                       (is_absolute ? sizeof(int64_t) : 0) +
                       (key_bytes >= Entry::kLongKey ? sizeof(uint32_t) : 0) + key_bytes +
                       value_bytes;
  return BlockSize(bytes);
}

Entry* Entry::Make(const EntryShape& shape, size_t block_bytes, std::string_view key,
                   const EntryPayload& payload, uint8_t database_id) {
  assert(key.size() == shape.key_bytes && shape.value_bytes <= kInlineBytesMax);
  assert(payload.bytes.size() == shape.value_bytes);
  assert(block_bytes == shape.BlockBytes());
  assert(shape.is_volatile || !shape.is_absolute);
  void* block = std::malloc(block_bytes);
  if (block == nullptr) std::abort();  // as `new` without exceptions would
  Entry* entry = new (block) Entry;
  entry->type_ = static_cast<uint8_t>(payload.type);
  entry->flags_ = static_cast<uint8_t>((shape.is_volatile ? kVolatile : 0) |
                                       (shape.is_absolute ? kAbsolute : 0) | FlagsOf(payload));
  // 255 says: the length stands in four bytes before the key.
  entry->key_length_ = static_cast<uint8_t>(key.size() < kLongKey ? key.size() : kLongKey);
  entry->value_length_ = static_cast<uint8_t>(payload.bytes.size());
  entry->database_id_ = database_id;
  char* at = entry->base() + kHeaderBytes;
  if (shape.is_volatile) at = reinterpret_cast<char*>(new (at) TimerNode + 1);
  if (shape.is_absolute) {
    entry->set_unix_deadline_ms(0);
    at += sizeof(int64_t);
  }
  if (key.size() >= kLongKey) [[unlikely]] {
    const auto length = static_cast<uint32_t>(key.size());
    std::memcpy(at, &length, sizeof(length));
    at += sizeof(length);
  }
  CopyBytes(at, key.data(), key.size());
  CopyBytes(at + key.size(), payload.bytes.data(), payload.bytes.size());
  return entry;
}

void Entry::Free(Entry* entry, size_t block_bytes, FreeLater& blocks) {
  assert(!entry->has(kVolatile) || !entry->timer().linked());
  assert(block_bytes == entry->shape().BlockBytes());
  blocks.Take(entry, block_bytes);
}

// The timer of an entry always stands right behind its header.
Entry& Entry::OfTimer(TimerNode& node) {
  return *reinterpret_cast<Entry*>(reinterpret_cast<char*>(&node) - kHeaderBytes);
}

EntryShape Entry::shape() const {
  return {has(kVolatile), absolute(), key().size(), value_length_};
}

EntryPayload Entry::payload() const {
  return {type(), form(), has(kRaw), {value_field(), value_length_}, has(kMayEnd)};
}

void Entry::Store(const EntryPayload& payload) {
  type_ = static_cast<uint8_t>(payload.type);
  value_length_ = static_cast<uint8_t>(payload.bytes.size());
  flags_ = static_cast<uint8_t>((flags_ & (kVolatile | kAbsolute | kMark)) | FlagsOf(payload));
  // The bytes may be this entry's own.
  CopyBytes(base() + value_offset(), payload.bytes.data(), payload.bytes.size());
}

void Entry::set_unix_deadline_ms(int64_t ms) {
  std::memcpy(base() + kHeaderBytes + sizeof(TimerNode), &ms, sizeof(ms));
}

// --- reading

Deadline Entry::deadline() const {
  if (!has(kVolatile)) return Deadline::None();
  return absolute() ? Deadline::Unix(unix_deadline_ms()) : Deadline::Steady(timer().deadline_ms());
}

std::string_view Entry::TextElsewhere(char* scratch) const {
  assert(is_string());
  if (is_integer())
    return {scratch, static_cast<size_t>(FormatInt64(scratch, integer()) - scratch)};
  return outside_text()->view();
}

size_t Entry::TextBytes() const {
  char scratch[kTextScratch];
  return Text(scratch).size();
}

bool Entry::is_raw() const { return has(kRaw); }

// Redis's answer, not ours: a text of the block up to 44 bytes is embstr there, and a longer one
// raw.
std::string_view Entry::Encoding() const {
  if (!is_string())
    return is_packed() ? UnpackValue(type(), packed())->Encoding() : value().Encoding();
  if (is_integer()) return "int";
  return !is_raw() && TextBytes() <= kEmbeddedTextMax ? "embstr" : "raw";
}

Value& Entry::value() const { return *outside_value(); }

bool Entry::ValueIsOver(const Now& now) const { return outside_value()->IsOver(now); }

uint32_t Entry::access_clock() const {
  return access_[0] | uint32_t{access_[1]} << 8 | uint32_t{access_[2]} << 16;
}

size_t Entry::MemoryBytes() const {
  return shape().BlockBytes() + (outside() ? outside_bytes() : 0) + kSlotShareBytes;
}

void Entry::PrefetchValue() const {
  if (!outside()) {
    // The look-up asks for the first bytes of the block.
    const char* const last = value_field() + value_length_ - 1;
    for (const char* at = base() + 64; at < last; at += 64) __builtin_prefetch(at);
    return __builtin_prefetch(last);
  }
  const auto* const object = reinterpret_cast<const char*>(outside_address());
  __builtin_prefetch(object);
  __builtin_prefetch(object + 64);
}

// --- what lies outside the block

TextBlock* Entry::outside_text() const {
  assert(is_string() && outside());
  return reinterpret_cast<TextBlock*>(outside_address());
}

Value* Entry::outside_value() const {
  assert(!is_string() && outside());
  return reinterpret_cast<Value*>(outside_address());
}

size_t Entry::outside_bytes() const {
  if (!is_string()) return outside_value()->MemoryBytes();
  return sizeof(TextBlock) + outside_text()->MemoryBytes();
}

void Entry::set_accounted(size_t bytes) {
  assert(bytes <= kOutsideMax);
  const uint64_t count = bytes;
  std::memcpy(base() + value_offset() + kOutsideBytes / 2, &count, kOutsideBytes / 2);
}

}  // namespace sluice
