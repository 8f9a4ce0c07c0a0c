// Lists, sets, hashes and sorted sets in RDB form. See rdb_format.h for the numbers of their types;
// small ones are one listpack (of integers: one intset), large ones a count and strings. Field
// deadlines are written as Redis 7.4 does:
//
//   earliest deadline 8 | count | (0, or deadline less the earliest and 1, name, value) ...
//
// In files of version 10, which has no such type, they are a module value:
//
//   sluicehsh: count | (name | value | kind of deadline (0 none, 1 relative, 2 absolute) [ms]) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "storage/keyspace/access_count.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_module.h"
#include "storage/rdb/rdb_reader.h"
#include "storage/rdb/rdb_writer.h"
#include "storage/types/hash.h"
#include "storage/types/list.h"
#include "storage/types/set.h"
#include "storage/types/sorted_set.h"

namespace sluice {

struct LockImage;

// The terms under which values are made. Limits decide which encoding a value gets, whatever its
// encoding was where it was written.
struct RdbContext {
  Now now;
  bool compress = true;  // texts, when they are written
  // A file has nothing but what Redis 7.0 writes: fields of hashes that are not over, without
  // deadlines, and no marks of kinds of deadlines. Values of ours it cannot hold.
  bool for_redis = false;
  // The engine time as of which locks and limits are written; null: `now`.
  std::optional<int64_t> values_us = std::nullopt;
  Hash::Limits hash;
  Set::Limits set;
  SortedSet::Limits sorted_set;
  ListLimits list;
  // The use of a key that is written with it, as the policy of eviction has it in an entry's access
  // bits: for how long it was not used, or how often it was.
  enum class Use : uint8_t { kNotWritten, kIdle, kFrequency };
  Use use = Use::kNotWritten;
  int64_t access_clock = 0;  // Keyspace::AccessSeconds of `now`
  const AccessCount* access_count = nullptr;
  // Makes a lock; without it there are none to be read. RESTORE's gives a lock no holder.
  std::function<std::unique_ptr<Value>(const LockImage& image)> make_lock;
};

// Each writes its type and value.
void WriteList(const List& list, RdbWriter& writer);
void WriteSet(const Set& set, RdbWriter& writer);
void WriteListNode(const ListChunk& chunk, RdbWriter& writer);  // alone, of a list of chunks
void WriteHash(const Hash& hash, const Now& now, RdbWriter& writer);
void WritePlainHash(const Hash& hash, const Now& now, RdbWriter& writer);  // without deadlines
void WriteSortedSet(const SortedSet& set, RdbWriter& writer);

inline constexpr RdbModuleType kRdbTimedHash{"sluicehsh"};
void WriteHashModule(const Hash& hash, const Now& now, RdbWriter& writer);
void WriteModuleField(const Hash& hash, std::string_view name, std::string_view text,
                      const Now& now, ModuleWriter& writer);
// So early that no field is over. In a file stand those too that are over, but there until a timer
// or a command meets them, and so does their hash: a later command of a log may count on that.
Now BeforeAllDeadlines(Now now);
// The moment as of which locks and limits are written.
inline Now ValuesMoment(const RdbContext& context) {
  return {context.values_us.value_or(context.now.steady_us), context.now.unix_offset_ms};
}
std::unique_ptr<Value> ReadHashModule(ModuleReader& reader, const RdbContext& context);

// Each takes the value of one of its types. Null at a fault, and then the reader has failed; or
// when nothing is in it.
std::unique_ptr<Value> ReadList(RdbType type, RdbReader& reader, const RdbContext& context);
std::unique_ptr<Value> ReadSet(RdbType type, RdbReader& reader, const RdbContext& context);
std::unique_ptr<Value> ReadHash(RdbType type, RdbReader& reader, const RdbContext& context);
std::unique_ptr<Value> ReadSortedSet(RdbType type, RdbReader& reader, const RdbContext& context);

}  // namespace sluice
