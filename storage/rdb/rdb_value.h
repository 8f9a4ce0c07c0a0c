// Values in Redis's RDB form: what DUMP gives and RESTORE takes, and what snapshots are made of.
//
// Every type is written as Redis 7.0 would (rdb_format.h), so that either server takes the other's;
// ours are module values (rdb_module.h), which Redis's tools go past. Reading takes the forms of
// all older versions too. Bytes are input like any other: they are validated, and the value is
// built through its own interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/keyspace/database.h"
#include "storage/keyspace/entry.h"
#include "storage/keyspace/value.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_reader.h"
#include "storage/time/clock.h"

namespace sluice {

// A value that no key has yet.
struct RdbValue {
  std::string text;              // a string, unless there is
  std::unique_ptr<Value> value;  // another value

  bool is_lock() const { return value && value->type() == ValueType::kLock; }
  // Nothing is left of it: a limiter that is whole, a bucket that has drained.
  bool Ended(const Now& now) const { return value && value->EndsAtMs(now) <= now.ms(); }
};

// Appends type and value.
void WriteRdbValue(const Entry& entry, const RdbContext& context, std::string& out);
// The same as files of version 10 have it: fields' deadlines are none of its own.
void WriteRdbFileValue(const Entry& entry, const RdbContext& context, std::string& out);
// The version that readers need to know.
uint16_t RdbVersionOf(const Entry& entry);
// Null when the bytes are at fault, and then the reader has failed; or when nothing is in the
// value, be it that all fields of a hash have ended.
std::optional<RdbValue> ReadRdbValue(RdbType type, RdbReader& reader, const RdbContext& context);
// Whether there is a value of it.
bool IsRdbType(RdbType type);
// Whether a module's id is one of ours, in a version that can be read; and its value behind that.
bool IsRdbModule(uint64_t id);
std::optional<RdbValue> ReadRdbModule(uint64_t id, RdbReader& reader, const RdbContext& context);

// Creates or overwrites the key; one that ends by itself gets no later deadline than that. The room
// of a text stays with `value`. Requires: !value.Ended(now).
Entry& PutRdbValue(Database& db, HashedKey key, RdbValue&& value, Deadline deadline,
                   const Now& now);

// --- a dump: such a value with version and checksum

std::string WriteDump(const Entry& entry, const RdbContext& context);
// The same as Redis 7.0 can hold it: fields' deadlines are left out. Requires: the value is none of
// ours.
std::string WriteDumpForRedis70(const Entry& entry, RdbContext context);
// The version that a dump says it is of. Requires: IsDump(dump).
uint16_t DumpVersion(std::string_view dump);
// Whether its frame is sound: of a version that is known, and with the right checksum.
bool IsDump(std::string_view dump);
// Null where there is no value; `all_ended`: of a hash, as all of its fields have ended. Requires:
// IsDump(dump).
std::optional<RdbValue> ReadDump(std::string_view dump, const RdbContext& context, bool& all_ended);

}  // namespace sluice
