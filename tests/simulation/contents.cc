// See contents.h.
#include "tests/simulation/contents.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/commands/admin/data_digest.h"
#include "storage/keyspace/packed_value.h"
#include "storage/limits/leaky_bucket.h"
#include "storage/limits/limiter.h"
#include "storage/locks/lock.h"
#include "storage/rdb/rdb_value.h"
#include "storage/types/hash.h"
#include "storage/types/streams/stream.h"

namespace sluice {
namespace {

// Its entries are in the digest. When consumers were last seen is no state that is told.
std::string TextOf(const Stream& stream) {
  std::string text = " last " + stream.last_id().Text() + " first " + stream.first_id().Text() +
                     " deleted " + stream.max_deleted_id().Text() + " added " +
                     std::to_string(stream.entries_added());
  for (const auto& [name, group] : stream.groups()) {
    text += "\n  " + name + " at " + group->last_id.Text() + " read " +
            std::to_string(group->entries_read);
    for (const auto& [consumer, state] : group->consumers()) text += " " + consumer;
    for (const auto& [id, pending] : group->pending()) {
      text += "\n    " + id.Text() + " " + std::string(pending.owner()) + " " +
              std::to_string(pending.shown_ms()) + " x" + std::to_string(pending.deliveries);
    }
  }
  return text;
}

// Of which kind, and when.
std::string TextOf(const Deadline& deadline) {
  if (deadline.none()) return "ever";
  return (deadline.kind == Deadline::Kind::kUnix ? "unix " : "engine ") +
         std::to_string(deadline.ms);
}

// The digest has its fields, but not their ends.
std::string TextOf(const Hash& hash) {
  std::map<std::string, std::string> ends;
  hash.ForEach({}, [&](std::string_view name, std::string_view) {
    FieldValue field;
    if (hash.Get(name, {}, field) && !field.deadline.none())
      ends[std::string(name)] = TextOf(field.deadline);
  });
  std::string text;
  for (const auto& [name, end] : ends) text += " " + name + " until " + end;
  return text;
}

// Of a limiter or a bucket, which ends by itself, the earlier of that and its deadline: a wall
// clock that is stepped can make either the later one, and a file keeps what counts.
Deadline EndOf(const Entry& entry, const Now& now) {
  const Deadline deadline = entry.deadline();
  const bool ends_by_itself =
      entry.type() == ValueType::kLimiter || entry.type() == ValueType::kLeakyBucket;
  if (!ends_by_itself || deadline.none()) return deadline;
  const int64_t own_ms = entry.is_packed()
                             ? UnpackValue(entry.type(), entry.packed())->EndsAtMs(now)
                             : entry.value().EndsAtMs(now);
  return deadline.LeftMs(now) > own_ms - now.ms() ? Deadline::Steady(own_ms) : deadline;
}

std::string AsWritten(const Entry& entry, const Now& now) {
  std::string written;
  WriteRdbValue(entry, {.now = now}, written);
  return written;
}

// A lease that is over counts as ended, also where it has still to be.
std::string TextOf(const Lock& lock, const Now& now) {
  std::string text;
  for (const LockHolder& holder : lock.holders()) {
    if (holder.EndsAtMs() <= now.ms()) continue;
    text += std::to_string(holder.token) + " " + std::string(holder.owner) + " x" +
            std::to_string(holder.holds) + " until " + std::to_string(holder.EndsAtMs()) + "\n";
  }
  return text;
}

// All there is to a value.
std::string TextOf(const Entry& entry, const Now& now) {
  char scratch[Entry::kTextScratch];
  if (entry.is_string()) return std::string(entry.Text(scratch));
  std::unique_ptr<Value> unpacked;
  if (entry.is_packed()) unpacked = UnpackValue(entry.type(), entry.packed());
  Value& value = entry.is_packed() ? *unpacked : entry.value();
  std::string text;
  if (entry.type() == ValueType::kLeakyBucket) {
    std::map<int64_t, uint64_t> drains;
    static_cast<LeakyBucket&>(value).ForEachDrain(
        now, [&](int64_t due_ms, uint64_t units) { drains[due_ms] += units; });
    for (const auto& [due_ms, units] : drains)
      text += std::to_string(due_ms) + ":" + std::to_string(units) + " ";
  } else if (entry.type() == ValueType::kLimiter) {
    const Limiter& limiter = static_cast<Limiter&>(value);
    // As a file has it: a window that is over, in a ban that is not, is as none there.
    if (!limiter.log()) return AsWritten(entry, now);
    Now at = now;
    for (int step = 0; step < 500; ++step, at.steady_us += 1000)
      text += std::to_string(limiter.Info(at).remaining) + " ";
  } else if (entry.type() == ValueType::kLock) {
    text = TextOf(static_cast<const Lock&>(value), now);
  } else {
    text = DigestOfValue(&entry, now);
  }
  if (entry.type() == ValueType::kHash) text += TextOf(static_cast<Hash&>(entry.value()));
  if (entry.type() == ValueType::kStream) text += TextOf(static_cast<Stream&>(entry.value()));
  return text;
}

}  // namespace

Contents ContentsOf(TestEngine& server) {
  Contents contents;
  Keyspace& keyspace = server.engine().keyspace();
  const Now now = server.now();
  for (int db = 0; db < keyspace.databases(); ++db) {
    if (!keyspace.made(db)) continue;
    keyspace.db(db).ForEach([&](const Entry& entry) {
      // A limiter that has ended is as none, too, where a step of the clock put its deadline off.
      const Deadline end = EndOf(entry, now);
      if (!end.none() && end.LeftMs(now) <= 0) return;
      std::string text = TextOf(entry, now);
      if (entry.type() == ValueType::kLock && text.empty()) return;
      contents[{db, std::string(entry.key())}] = std::move(text) + " until " + TextOf(end);
    });
  }
  return contents;
}

}  // namespace sluice
