// See redis_export.h. Each database is gone over twice: before its keys stands how many they are.
#include "server/snapshots/redis_export.h"

#include <algorithm>

#include "protocol/text/number_text.h"
#include "server/config/version.h"
#include "storage/locks/lock.h"
#include "storage/types/hash.h"

namespace sluice {
namespace {

bool IsHeld(const Lock& lock, const Now& now) {
  const auto is_now = [&now](const LockHolder& holder) { return holder.EndsAtMs() > now.ms(); };
  return !lock.Ended() && std::any_of(lock.holders().begin(), lock.holders().end(), is_now);
}

}  // namespace

RedisExport::RedisExport(const SnapshotWriter::Source& source, const TurnClock& clock,
                         ByteSink& sink)
    : source_(source), context_{.now = clock.now(), .for_redis = true}, writer_(sink, context_) {}

bool RedisExport::WriteAll() {
  writer_.Aux("redis-ver", kRedisVersion);
  writer_.Aux("redis-bits", "64");
  writer_.Aux("ctime", Int64Text(context_.now.unix_s()));
  writer_.Aux("aof-base", "0");
  for (const auto& [name, library] : source_.functions.all()) {
    writer_.Function(library->code);
    ++written_.functions;
  }
  CountBeside();
  for (int index = 0; index < source_.keyspace.databases(); ++index) {
    if (source_.keyspace.made(index)) WriteDatabase(index);
  }
  return writer_.End();
}

// Counts what is kept beside keys.
void RedisExport::CountBeside() {
  left_out_.policies = source_.policies.size();
  source_.fences.ForEach([this](const LockName& name, int64_t token) {
    if (source_.fences.Newest(name, context_.now) == token) ++left_out_.tokens;
  });
}

void RedisExport::WriteDatabase(int index) {
  const Database& db = source_.keyspace.db(index);
  uint64_t keys = 0, with_deadline = 0;
  db.ForEach([&](const Entry& entry) {
    CountLeftOut(entry);
    if (!Fits(entry)) return;
    ++keys;
    with_deadline += entry.is_volatile() ? 1 : 0;
  });
  if (keys == 0) return;
  writer_.BeginDatabase(static_cast<uint64_t>(index), keys, with_deadline);
  db.ForEach([this](const Entry& entry) {
    if (Fits(entry)) writer_.Key(entry);
  });
  written_.keys += keys;
  written_.with_deadline += with_deadline;
  written_.last_database = index;
}

bool RedisExport::Fits(const Entry& entry) const {
  return !entry.is_kept_always() && !entry.Expired(context_.now);
}

// A limit or a lock that is over is nothing that a user would miss.
void RedisExport::CountLeftOut(const Entry& entry) {
  const bool is_over = entry.Expired(context_.now);
  switch (entry.type()) {
    case ValueType::kLock:
      left_out_.locks += IsHeld(static_cast<const Lock&>(entry.value()), context_.now) ? 1 : 0;
      return;
    case ValueType::kLimiter:
      left_out_.limiters += is_over ? 0 : 1;
      return;
    case ValueType::kLeakyBucket:
      left_out_.buckets += is_over ? 0 : 1;
      return;
    default:
      break;
  }
  left_out_.ended_keys += is_over ? 1 : 0;
  if (is_over || entry.type() != ValueType::kHash) return;
  const auto& hash = static_cast<const Hash&>(entry.value());
  const uint64_t ends = hash.CountTimed(context_.now);
  left_out_.ended_fields += hash.size() - hash.CountLive(context_.now);
  left_out_.field_ends += ends;
  left_out_.timed_hashes += ends > 0 ? 1 : 0;
}

}  // namespace sluice
