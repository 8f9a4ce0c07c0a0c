// See request_memory.h.
#include "storage/requests/request_memory.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "protocol/text/concat.h"
#include "storage/hashing/sha.h"
#include "storage/memory/block_size.h"

namespace sluice {
namespace {

// A number as a varint: seven bits a byte, the lowest first; the sign is the lowest bit.
constexpr size_t kVarintMax = 10;

// Room on the stack for the numbers of a verdict.
constexpr size_t kNumbersInline = 10 * kVarintMax;

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
  Record* next = nullptr;
  uint64_t fingerprint = 0;
  uint16_t number_bytes = 0;
  uint8_t id_size = 0;
  bool dead = false;

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view id() const { return {data(), id_size}; }
  const uint8_t* numbers() const { return reinterpret_cast<const uint8_t*>(data()) + id_size; }
};

size_t RequestMemory::Hash::operator()(const Record* record) const {
  return HashName(record->id(), *key);
}
bool RequestMemory::Equal::operator()(const Record* a, const HashedId& id) const {
  return a->id() == id.bytes;
}

RequestMemory::~RequestMemory() {
  while (first_ != nullptr) {
    Record* const gone = first_;
    first_ = gone->next;
    std::free(gone);
  }
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

std::optional<RequestMemory::Answer> RequestMemory::Find(std::string_view id,
                                                         const Now& now) const {
  if (tables_.empty()) return std::nullopt;
  const HashedId hashed = Hashed(id);
  const Table& table = TableOf(hashed);
  const auto found = table.find(hashed);
  if (found == table.end() || IsOver(**found, now)) return std::nullopt;
  return AnswerOf(**found);
}

size_t RequestMemory::BytesOf(const Record& record) const {
  return BlockSize(sizeof(Record) + record.id_size + record.number_bytes) + kSlotBytes;
}

void RequestMemory::Remember(std::string_view id, const Answer& answer, const Now& now) {
  assert(!id.empty() && id.size() <= kRequestIdBytesMax);
  assert(answer.for_ms >= 1 && answer.for_ms <= kRequestForMsMax);
  absl::InlinedVector<uint8_t, kNumbersInline> numbers((2 + answer.values.size()) * kVarintMax);
  size_t number_bytes = PutVarint(answer.at_ms + answer.for_ms, numbers.data());
  number_bytes += PutVarint(answer.for_ms, numbers.data() + number_bytes);
  for (const int64_t value : answer.values)
    number_bytes += PutVarint(value, numbers.data() + number_bytes);
  const size_t block = sizeof(Record) + id.size() + number_bytes;
  if (number_bytes > UINT16_MAX || block + kSlotBytes > bytes_max_) return ForgetSome(nullptr, now);
  if (tables_.empty()) tables_.resize(kTables, Table(0, Hash{&key_}));
  auto* const record = new (std::malloc(block)) Record{
      .fingerprint = answer.fingerprint,
      .number_bytes = static_cast<uint16_t>(number_bytes),
      .id_size = static_cast<uint8_t>(id.size()),
  };
  std::memcpy(record->data(), id.data(), id.size());
  std::memcpy(record->data() + id.size(), numbers.data(), number_bytes);
  Add(record);
  ForgetSome(record, now);
}

void RequestMemory::Add(Record* record) {
  const HashedId id = Hashed(record->id());
  Table& table = TableOf(id);
  const auto put = [&] {
    bool is_new = false;
    const auto at = table.lazy_emplace(id, [&](const auto& make) {
      make(record);
      is_new = true;
    });
    return is_new ? table.end() : at;
  };
  if (const auto former = put(); former != table.end()) [[unlikely]] {
    (*former)->dead = true;
    table.erase(former);
    --size_;
    put();
  }
  (last_ == nullptr ? first_ : last_->next) = record;
  last_ = record;
  ++size_;
  bytes_ += BytesOf(*record);
}

void RequestMemory::ForgetSome(const Record* newest, const Now& now) {
  for (size_t i = 0; i < kForgottenPerCall && first_ != newest; ++i) {
    const bool goes = first_->dead || IsOver(*first_, now);
    if (!goes && bytes_ <= bytes_max_) break;
    evicted_ += goes ? 0 : 1;
    ForgetFirst();
  }
  __builtin_prefetch(first_);  // looked at by the next call, and old enough to be in no cache
}

// The image goes on behind it.
void RequestMemory::ForgetFirst() {
  Record* const gone = first_;
  if (image_next_ == gone) image_next_ = gone == image_last_ ? nullptr : gone->next;
  first_ = gone->next;
  if (first_ == nullptr) last_ = nullptr;
  bytes_ -= BytesOf(*gone);
  if (!gone->dead) {
    const HashedId id = Hashed(gone->id());
    TableOf(id).erase(id);
    --size_;
  }
  std::free(gone);
}

bool RequestMemory::ImageSlice(size_t budget, const Now& now,
                               absl::FunctionRef<void(std::string_view, const Answer&)> visit) {
  while (image_next_ != nullptr) {
    if (budget-- == 0) return true;
    const Record& record = *image_next_;
    image_next_ = &record == image_last_ ? nullptr : record.next;
    if (!record.dead && !IsOver(record, now)) visit(record.id(), AnswerOf(record));
  }
  return false;
}

}  // namespace sluice
