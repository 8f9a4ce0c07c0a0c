// See request_memory.h.
#include "storage/requests/request_memory.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <string>

#include "protocol/text/concat.h"
#include "storage/hashing/sha.h"

namespace sluice {
namespace {

// A number as a varint: seven bits a byte, the lowest first; the sign is the lowest bit.
constexpr size_t kVarintMax = 10;

size_t PutVarint(int64_t number, uint8_t* out) {
  auto rest = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
  size_t size = 0;
  for (; rest >= 0x80; rest >>= 7) out[size++] = static_cast<uint8_t>(rest | 0x80);
  out[size++] = static_cast<uint8_t>(rest);
  return size;
}

int64_t TakeVarint(const uint8_t*& at) {
  uint64_t bits = 0;
  for (unsigned shift = 0;; shift += 7) {
    bits |= static_cast<uint64_t>(*at & 0x7f) << shift;
    if ((*at++ & 0x80) == 0) break;
  }
  return static_cast<int64_t>(bits >> 1) ^ -static_cast<int64_t>(bits & 1);
}

}  // namespace

RequestId::RequestId(std::string_view given) {
  if (given.size() <= kRequestIdPlainMax) [[likely]] {
    Set(given);
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "sha256:";
  for (const uint8_t byte : Sha256(given)) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  Set(text);
}

RequestId RequestId::Kept(std::string_view kept) {
  RequestId id;
  id.Set(kept);
  return id;
}

void RequestId::Set(std::string_view bytes) {
  assert(bytes.size() <= bytes_.size());
  size_ = static_cast<uint8_t>(bytes.size());
  std::ranges::copy(bytes, bytes_.begin());
}

// Behind it stand the bytes of the id, then when it is over (engine ms), for how long it was kept,
// and the values.
struct [[gnu::packed]] RequestMemory::Record {
  uint64_t fingerprint = 0;
  uint64_t hash = 0;  // of the id
  uint16_t number_bytes = 0;
  uint8_t id_size = 0;
  bool dead = false;

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view id() const { return {data(), id_size}; }
  const uint8_t* numbers() const { return reinterpret_cast<const uint8_t*>(data()) + id_size; }
  size_t bytes() const { return sizeof(Record) + id_size + number_bytes; }
};

size_t RequestMemory::Hash::operator()(const Record* record) const { return record->hash; }
bool RequestMemory::Equal::operator()(const Record* a, const HashedId& id) const {
  return a->id() == id.bytes;
}

// Null: there is none.
const RequestMemory::Record* RequestMemory::RecordAt(RecordRing::Cursor place) {
  return reinterpret_cast<const Record*>(place.block());
}

RequestMemory::Answer RequestMemory::AnswerOf(const Record& record) const {
  const uint8_t* at = record.numbers();
  const uint8_t* const end = at + record.number_bytes;
  Answer answer{.fingerprint = record.fingerprint, .at_ms = TakeVarint(at)};
  answer.for_ms = TakeVarint(at);
  answer.at_ms -= answer.for_ms;
  while (at < end) answer.values.push_back(TakeVarint(at));
  return answer;
}

bool RequestMemory::IsOver(const Record& record, const Now& now) const {
  const uint8_t* at = record.numbers();
  return now.ms() >= TakeVarint(at);
}

std::optional<RequestMemory::Answer> RequestMemory::Find(const HashedId& id, const Now& now) const {
  if (tables_.empty()) return std::nullopt;
  const Table& table = TableOf(id);
  const auto found = table.find(id);
  if (found == table.end() || IsOver(**found, now)) return std::nullopt;
  return AnswerOf(**found);
}

size_t RequestMemory::BytesOf(const Record& record) const { return record.bytes() + kSlotBytes; }

void RequestMemory::Remember(const HashedId& id, const AnswerView& answer, const Now& now) {
  assert(!id.bytes.empty() && id.bytes.size() <= kRequestIdBytesMax);
  assert(answer.for_ms >= 1 && answer.for_ms <= kRequestForMsMax);
  const size_t number_bytes_max = (2 + answer.values.size()) * kVarintMax;
  const size_t block_max = sizeof(Record) + id.bytes.size() + number_bytes_max;
  if (number_bytes_max > UINT16_MAX || bytes_max_ == 0) return ForgetSome(nullptr, now);
  auto* const record =
      new (ring_.Append(block_max)) Record{.fingerprint = answer.fingerprint,
                                           .hash = id.hash,
                                           .id_size = static_cast<uint8_t>(id.bytes.size())};
  std::memcpy(record->data(), id.bytes.data(), id.bytes.size());
  auto* const numbers = reinterpret_cast<uint8_t*>(record->data() + id.bytes.size());
  uint8_t* end = numbers + PutVarint(answer.at_ms + answer.for_ms, numbers);
  end += PutVarint(answer.for_ms, end);
  for (const int64_t value : answer.values) end += PutVarint(value, end);
  record->number_bytes = static_cast<uint16_t>(end - numbers);
  if (BytesOf(*record) > bytes_max_) {
    ring_.GiveBack(block_max);
    return ForgetSome(nullptr, now);
  }
  ring_.GiveBack(block_max - record->bytes());
  Add(record, id);
  ForgetSome(record, now);
}

void RequestMemory::Add(Record* record, const HashedId& id) {
  if (tables_.empty()) [[unlikely]]
    tables_.resize(kTables);
  Table& table = TableOf(id);
  bool is_new = false;
  const auto at = table.lazy_emplace(id, [&](const auto& make) {
    make(record);
    is_new = true;
  });
  if (!is_new) [[unlikely]] {
    (*at)->dead = true;
    table.erase(at);
    table.insert(record);
    --size_;
  }
  last_ = record;
  ++size_;
  bytes_ += BytesOf(*record);
}

void RequestMemory::ForgetSome(const Record* newest, const Now& now) {
  for (size_t i = 0; i < kForgottenPerCall; ++i) {
    const Record* const first = RecordAt(ring_.first());
    if (first == newest || first == nullptr) return;
    const bool goes = first->dead || IsOver(*first, now);
    if (!goes && bytes_ <= bytes_max_) break;
    evicted_ += goes ? 0 : 1;
    ForgetFirst();
  }
  // Looked at by the next call, and old enough to be in no cache.
  __builtin_prefetch(ring_.first().block());
}

// The image goes on behind it.
void RequestMemory::ForgetFirst() {
  const Record& gone = *RecordAt(ring_.first());
  if (RecordAt(image_next_) == &gone) PassImage(gone);
  bytes_ -= BytesOf(gone);
  if (!gone.dead) {
    const HashedId id{gone.id(), gone.hash};
    TableOf(id).erase(id);
    --size_;
  }
  if (last_ == &gone) last_ = nullptr;
  ring_.DropFirst(gone.bytes());
}

void RequestMemory::PassImage(const Record& record) {
  const bool is_last = &record == image_last_;
  image_next_ = is_last ? RecordRing::Cursor() : RecordRing::Behind(image_next_, record.bytes());
}

bool RequestMemory::ImageSlice(size_t budget, const Now& now,
                               absl::FunctionRef<void(std::string_view, const Answer&)> visit) {
  while (const Record* const record = RecordAt(image_next_)) {
    if (budget-- == 0) return true;
    PassImage(*record);
    if (!record->dead && !IsOver(*record, now)) visit(record->id(), AnswerOf(*record));
  }
  return false;
}

}  // namespace sluice
