// See rdb_value.h.
#include "storage/rdb/rdb_value.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "storage/keyspace/packed_value.h"
#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_limits.h"
#include "storage/rdb/rdb_lock.h"
#include "storage/rdb/rdb_stream.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {
namespace {

// --- every type's own functions, as rows
// Three tables: who writes a type of ours, who reads a type of a file, who reads a module's value.
// The templates make functions of one shape of those that the types have.

using Write = void (*)(const Entry& entry, const RdbContext& context, RdbWriter& writer);
using Read = std::unique_ptr<Value> (*)(RdbType type, RdbReader& reader, const RdbContext& context);

template <typename T>
const T& ValueOf(const Entry& entry) {
  return static_cast<const T&>(entry.value());
}

void WriteText(const Entry& entry, const RdbContext&, RdbWriter& writer) {
  writer.Type(RdbType::kString);
  if (entry.is_integer()) return writer.Integer(entry.integer());
  char scratch[Entry::kTextScratch];
  writer.String(entry.Text(scratch));
}

void WriteStreamValue(const Entry& entry, const RdbContext&, RdbWriter& writer) {
  writer.Type(RdbType::kStream2);
  WriteStream(ValueOf<Stream>(entry), writer);
}

std::unique_ptr<Value> ReadStreamValue(RdbType type, RdbReader& reader, const RdbContext&) {
  return ReadStream(type, reader);
}

template <typename T, void (*write)(const T& value, RdbWriter& writer)>
void WriteValue(const Entry& entry, const RdbContext&, RdbWriter& writer) {
  write(ValueOf<T>(entry), writer);
}

// A value that is packed in its entry is unpacked to be written: one form in files, whichever is in
// memory.
template <typename T, void (*write)(const T& value, const Now& now, RdbWriter& writer)>
void WriteTimed(const Entry& entry, const RdbContext& context, RdbWriter& writer) {
  const Now now = ValuesMoment(context);
  if (!entry.is_packed()) return write(ValueOf<T>(entry), now, writer);
  const std::unique_ptr<Value> value = UnpackValue(entry.type(), entry.packed());
  write(static_cast<const T&>(*value), now, writer);
}

struct WriteRow {
  ValueType type;
  Write write;
};
constexpr WriteRow kWriters[] = {
    {ValueType::kString, WriteText},
    {ValueType::kList, WriteValue<List, WriteList>},
    {ValueType::kSet, WriteValue<Set, WriteSet>},
    {ValueType::kSortedSet, WriteValue<SortedSet, WriteSortedSet>},
    {ValueType::kHash, WriteTimed<Hash, WriteHash>},
    {ValueType::kStream, WriteStreamValue},
    {ValueType::kLimiter, WriteTimed<Limiter, WriteLimiter>},
    {ValueType::kLeakyBucket, WriteTimed<LeakyBucket, WriteLeakyBucket>},
    {ValueType::kLock, WriteTimed<Lock, WriteLock>},
};

using ReadModule = std::unique_ptr<Value> (*)(ModuleReader& reader, const RdbContext& context);

template <typename T, std::unique_ptr<T> (*read)(ModuleReader& reader, const Now& now)>
std::unique_ptr<Value> ReadTimed(ModuleReader& reader, const RdbContext& context) {
  return read(reader, context.now);
}

// Only what knows locks can make one: RESTORE, a loader, or a check that has make_lock.
template <std::optional<LockImage> (*read)(ModuleReader& reader, const Now& now)>
std::unique_ptr<Value> ReadLockValue(ModuleReader& reader, const RdbContext& context) {
  const std::optional<LockImage> image = read(reader, context.now);
  if (!context.make_lock) reader.Fail();
  return reader.ok() ? context.make_lock(*image) : nullptr;
}

struct ModuleRow {
  RdbModuleType type;
  ReadModule read;
};
constexpr ModuleRow kModules[] = {
    {kRdbTimedHash, ReadHashModule},
    {kRdbLimiter, ReadTimed<Limiter, ReadLimiter>},
    {kRdbLeakyBucket, ReadTimed<LeakyBucket, ReadLeakyBucket>},
    {kRdbLargeBucket, ReadTimed<LeakyBucket, ReadLargeBucket>},
    {kRdbLock, ReadLockValue<ReadLock>},
    {kRdbLargeLock, ReadLockValue<ReadLargeLock>},
    {kRdbUntimedLock, ReadLockValue<ReadUntimedLock>},
    {kRdbLargeUntimedLock, ReadLockValue<ReadLargeUntimedLock>},
};

const ModuleRow* FindModule(uint64_t id) {
  const auto* const row = std::ranges::find(kModules, id, [](auto& row) { return row.type.id(); });
  return row == std::end(kModules) ? nullptr : row;
}

struct ReadRow {
  RdbType type;
  Read read;
};
constexpr ReadRow kReaders[] = {
    {RdbType::kList, ReadList},
    {RdbType::kSet, ReadSet},
    {RdbType::kSortedSetText, ReadSortedSet},
    {RdbType::kHash, ReadHash},
    {RdbType::kSortedSet, ReadSortedSet},
    {RdbType::kHashZipmap, ReadHash},
    {RdbType::kListZiplist, ReadList},
    {RdbType::kSetIntset, ReadSet},
    {RdbType::kSortedSetZiplist, ReadSortedSet},
    {RdbType::kHashZiplist, ReadHash},
    {RdbType::kQuicklistZiplists, ReadList},
    {RdbType::kHashListpack, ReadHash},
    {RdbType::kSortedSetListpack, ReadSortedSet},
    {RdbType::kQuicklist, ReadList},
    {RdbType::kSetListpack, ReadSet},
    {RdbType::kValkeyHash, ReadHash},
    {RdbType::kHashFieldTtlRc, ReadHash},
    {RdbType::kHashListpackFieldTtlRc, ReadHash},
    {RdbType::kHashFieldTtl, ReadHash},
    {RdbType::kHashListpackFieldTtl, ReadHash},
    {RdbType::kStream1, ReadStreamValue},
    {RdbType::kStream2, ReadStreamValue},
    {RdbType::kStream3, ReadStreamValue},
    {RdbType::kStream4, ReadStreamValue},
    {RdbType::kStream5, ReadStreamValue},
};

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// The footer: version and checksum, both little-endian. The checksum covers the version.
void CloseDump(std::string& dump, uint16_t version) {
  dump.push_back(static_cast<char>(version & 255));
  dump.push_back(static_cast<char>(version >> 8));
  const uint64_t crc = Crc64(dump);
  RdbWriter(dump).Int64(static_cast<int64_t>(crc));
}

}  // namespace

void WriteRdbValue(const Entry& entry, const RdbContext& context, std::string& out) {
  RdbWriter writer(out, context.compress);
  for (const WriteRow& row : kWriters) {
    if (row.type == entry.type()) return row.write(entry, context, writer);
  }
  assert(false);  // every type has a row
}

void WriteRdbFileValue(const Entry& entry, const RdbContext& context, std::string& out) {
  if (RdbVersionOf(entry) == kRdbVersion) return WriteRdbValue(entry, context, out);
  RdbWriter writer(out, context.compress);
  const auto& hash = ValueOf<Hash>(entry);
  if (context.for_redis) return WritePlainHash(hash, context.now, writer);
  WriteHashModule(hash, BeforeAllDeadlines(context.now), writer);
}

// All is written in forms of Redis 7.0, but for a hash whose fields end, which 7.4 came to know.
uint16_t RdbVersionOf(const Entry& entry) {
  const bool is_hash = entry.type() == ValueType::kHash;
  return is_hash && ValueOf<Hash>(entry).has_deadlines() ? kRdbVersionFieldTtl : kRdbVersion;
}

bool IsRdbType(RdbType type) {
  return type == RdbType::kString || type == RdbType::kModule ||
         std::ranges::find(kReaders, type, &ReadRow::type) != std::end(kReaders);
}

// A string is not a Value, and has its way of its own.
std::optional<RdbValue> ReadRdbValue(RdbType type, RdbReader& reader, const RdbContext& context) {
  if (type == RdbType::kModule) return ReadRdbModule(reader.Length(), reader, context);
  RdbValue result;
  if (type == RdbType::kString) {
    result.text = reader.String();
    if (reader.failed()) return std::nullopt;
    return result;
  }
  const ReadRow* const row = std::ranges::find(kReaders, type, &ReadRow::type);
  if (row == std::end(kReaders)) {
    reader.Fail();
    return std::nullopt;
  }
  result.value = row->read(type, reader, context);
  if (!result.value || reader.failed()) return std::nullopt;
  return result;
}

bool IsRdbModule(uint64_t id) { return FindModule(id) != nullptr; }

std::optional<RdbValue> ReadRdbModule(uint64_t id, RdbReader& reader, const RdbContext& context) {
  const ModuleRow* const row = FindModule(id);
  RdbValue result;
  ModuleReader module(reader);
  if (row != nullptr && reader.ok()) result.value = row->read(module, context);
  if (row == nullptr) reader.Fail();
  if (!result.value || reader.failed()) return std::nullopt;
  return result;
}

// The value's own end bounds the deadline, which is set once the value is in its place.
Entry& PutRdbValue(Database& db, HashedKey key, RdbValue&& value, Deadline deadline,
                   const Now& now) {
  assert(!value.Ended(now));
  if (!value.value) return db.PutText(key, value.text, deadline, now);
  const bool ends = value.value->EndsAtMs(now) != kEndsNever;
  Entry& entry = db.PutValue(key, std::move(value.value), deadline, now);
  return ends ? db.SetDeadline(entry, deadline) : entry;
}

// --- dumps

std::string WriteDump(const Entry& entry, const RdbContext& context) {
  std::string dump;
  // A long text is copied once. Room that is not needed is never touched.
  constexpr size_t kFrameBytesMax = 32;
  if (entry.is_string()) dump.reserve(entry.TextBytes() + kFrameBytesMax);
  WriteRdbValue(entry, context, dump);
  CloseDump(dump, RdbVersionOf(entry));
  return dump;
}

std::string WriteDumpForRedis70(const Entry& entry, RdbContext context) {
  assert(!IsOurs(entry.type()));
  context.for_redis = true;
  std::string dump;
  WriteRdbFileValue(entry, context, dump);
  CloseDump(dump, kRdbVersion);
  return dump;
}

uint16_t DumpVersion(std::string_view dump) {
  return static_cast<uint16_t>(LittleEndian(dump.substr(dump.size() - kRdbFooterBytes, 2)));
}

// A dump of a newer server is refused whole: its forms may not be known.
bool IsDump(std::string_view dump) {
  if (dump.size() < kRdbFooterBytes) return false;
  const size_t crc_at = dump.size() - sizeof(uint64_t);
  return DumpVersion(dump) <= kRdbVersionMax &&
         LittleEndian(dump.substr(crc_at)) == Crc64(dump.substr(0, crc_at));
}

std::optional<RdbValue> ReadDump(std::string_view dump, const RdbContext& context,
                                 bool& all_ended) {
  all_ended = false;
  dump.remove_suffix(kRdbFooterBytes);
  RdbReader reader(dump);
  const RdbType type = RdbTypeOf(reader.Byte(), false);
  if (reader.failed()) return std::nullopt;
  std::optional<RdbValue> value = ReadRdbValue(type, reader, context);
  if (value || reader.failed()) return value;
  // Sound, and nothing is in it: was there something before fields ended?
  RdbContext before = context;
  before.now = BeforeAllDeadlines(context.now);
  RdbReader again(dump.substr(1));
  all_ended = ReadRdbValue(type, again, before).has_value();
  return std::nullopt;
}

}  // namespace sluice
