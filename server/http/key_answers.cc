// /api/keys, a walk over the keys as SCAN's, and /api/key: one of them. No values: what a key holds
// is shown only where it is a lock, a limiter or a leaky bucket.

#include <algorithm>
#include <string>

#include "protocol/text/letters.h"
#include "server/core/turn_clock.h"
#include "server/http/answers.h"
#include "server/http/limiter_json.h"
#include "server/http/text/search.h"
#include "server/http/text/shown_name.h"
#include "server/locks/lock_service.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

constexpr size_t kHoldersInFull = 50;
constexpr size_t kWaitersInFull = 50;
constexpr size_t kKeysAtOnce = 64;  // to twice as many, between two looks at the clock

// -1: it has no deadline.
int64_t LeftOf(const Entry& entry, const Now& now) {
  const Deadline deadline = entry.deadline();
  return deadline.none() ? -1 : std::max<int64_t>(0, deadline.LeftMs(now));
}

// How full a limiter is stands there where keys of its type are asked for.
void WriteKey(JsonText& json, const PageCall& call, const ApiQuery& query, const Entry& entry,
              const Now& now) {
  json.Object().Key("name");
  WriteName(json, entry.key());
  json.Field("type", TypeName(entry.type())).Field("ttl_ms", LeftOf(entry, now));
  const bool is_looked_up = !query.type.empty() && entry.key().size() <= kLookedUpBytesMax;
  if (is_looked_up) WriteLimiter(json, call, {query.db, entry.key()}, entry, now);
  json.End();
}

}  // namespace

// Keys are looked at by ranges of their hashes, so the last range of an answer may bring more keys
// than it has room for: they are counted.
HttpAnswer AnswerKeys(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  const Now now = MomentOf(call);
  Keyspace& keyspace = call.parts.Get<Keyspace>();
  Search search(call.parts.Get<TurnClock>().clock(), query.match);
  JsonText json;
  json.Object().Key("keys").Array();
  size_t rows = 0;
  size_t looked_at = 0;
  const auto visit = [&](const Entry& entry) {
    ++looked_at;
    if (!query.type.empty() && !IsSameInAnyCase(query.type, TypeName(entry.type()))) return;
    if (!search.Wants(entry.key()) || entry.Expired(now)) return;
    if (json.size() > kAnswerBytesMax) return search.PassOver();
    ++rows;
    WriteKey(json, call, query, entry, now);
  };
  uint64_t next = query.cursor;
  if (keyspace.made(query.db)) {
    do {
      next = keyspace.db(query.db).Scan(next, kKeysAtOnce, visit);
    } while (next != 0 && rows < kAnswerRowsMax && !search.IsOver());
  }
  json.End()
      .Field("cursor", std::to_string(next))
      .Field("looked_at", looked_at)
      .Field("passed_over", search.passed_over())
      .End();
  return JsonAnswer(json);
}

HttpAnswer AnswerKey(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  if (!query.key) return HttpSentence(400, "key is missing");
  const Now now = MomentOf(call);
  const KeyNameView name{query.db, *query.key};
  const Entry* const entry = EntryAt(call, name, now);
  const WaitQueue::Line* const line = call.parts.Get<LockService>().queue().LineOf(name);
  JsonText json;
  json.Object().Field("db", query.db).Key("name");
  WriteName(json, name.key);
  json.Field("type", entry ? TypeName(entry->type()) : "none")
      .Field("ttl_ms", entry ? LeftOf(*entry, now) : -1);
  if (entry) WriteLimiter(json, call, name, *entry, now);
  if (line || (entry && entry->type() == ValueType::kLock)) {
    json.Key("lock").Object();
    WriteLock(json, call, name, LockAt(call, name, now), kHoldersInFull, now);
    if (line) WriteWaiters(json, call, *line, kWaitersInFull, now);
    json.End();
  }
  json.End();
  return JsonAnswer(json);
}

}  // namespace sluice
