// See debug_data.h.
#include "server/commands/admin/debug_data.h"

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/keys/dump_context.h"

namespace sluice {
namespace {

constexpr int64_t kSizeMax = 512 << 20;  // of a text

// A number from 0 on; null: the error has been answered.
std::optional<int64_t> ReadNatural(CommandCall& call, size_t at, int64_t most) {
  const std::optional<int64_t> value = ParseInt64(call.args[at]);
  if (value && *value >= 0 && *value <= most) return value;
  call.reply.Error("ERR value is out of range, must be positive");
  return std::nullopt;
}

struct Dumped {
  std::string key;
  std::string dump;
  Deadline deadline;
  uint32_t access_clock;
};

void Reload(CommandCall& call, Database& db) {
  const RdbContext context = RdbContextOf(call);
  std::vector<Dumped> all;
  db.ForEach([&](const Entry& entry) {
    if (entry.Expired(call.now) || entry.type() == ValueType::kLock) return;
    all.push_back({std::string(entry.key()), WriteDump(entry, context), entry.deadline(),
                   entry.access_clock()});
  });
  for (const Dumped& dumped : all) {
    std::optional<RdbValue> value = ReadDump(dumped.dump, context);
    const HashedKey key = call.keyspace.Hash(dumped.key);
    if (!value || value->Ended(call.now)) {
      db.Delete(key, call.now);
      continue;
    }
    Entry& entry = PutRdbValue(db, key, *std::move(value), dumped.deadline, call.now);
    db.SetAccessClock(entry, dumped.access_clock);
  }
}

}  // namespace

void DebugPopulate(CommandCall& call) {
  const std::optional<int64_t> count = ReadNatural(call, 2, INT64_MAX);
  if (!count) return;
  const std::string_view prefix = call.args.size() > 3 ? call.args[3] : "key";
  const std::optional<int64_t> size =
      call.args.size() > 4 ? ReadNatural(call, 4, kSizeMax) : std::optional<int64_t>(0);
  if (!size) return;
  for (int64_t i = 0; i < *count; ++i) {
    const std::string name = Concat(prefix, ':', i);
    const HashedKey key = call.keyspace.Hash(name);
    if (call.db.Find(key, call.now)) continue;
    std::string text = Concat("value:", i);
    if (*size > 0) text.resize(static_cast<size_t>(*size), '\0');
    call.db.PutTextAsIs(key, text, Deadline::None(), call.now);
    call.ChangedUnannounced(key.bytes);
  }
  call.reply.Ok();
}

void DebugReload(CommandCall& call) {
  if (call.args.size() > 2) {
    return call.reply.Error("ERR DEBUG RELOAD takes no options here: there is no file");
  }
  for (int i = 0; i < call.keyspace.databases(); ++i) {
    if (call.keyspace.made(i)) Reload(call, call.keyspace.db(i));
  }
  call.ChangedDatabases();
  call.NoEffect();  // what there is has stayed the same
  call.reply.Ok();
}

}  // namespace sluice
