// /api/locks and /api/waits: who holds which lock for how long, and who waits. Only looks: a lease
// that is over and not settled yet is shown with 0 ms.

#include <algorithm>
#include <string>

#include "server/core/turn_clock.h"
#include "server/http/answers.h"
#include "server/http/text/search.h"
#include "server/http/text/shown_name.h"
#include "server/locks/lock_effect.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

constexpr size_t kHoldersInList = 3;
constexpr size_t kHoldersInWaits = 6;
constexpr size_t kWaitersInWaits = 10;
constexpr size_t kLinesMax = 40;  // of waiters, in one answer
constexpr size_t kClientNameShown = 60;

// -1: a session alone keeps it.
int64_t LeaseLeft(const LockHolder& holder, const Now& now) {
  if (holder.is_minimum_hold()) return 0;
  return !holder.has_lease() ? -1 : std::max<int64_t>(0, holder.LeaseLeftMs(now));
}

// Where its requests come from; nothing for one that has gone, or was never bound to the lock.
void WriteClient(JsonText& json, const Session* session) {
  if (!session) return;
  json.Field("client_id", session->client_id)
      .Field("address", ShownText(session->peer.address))
      .Field("client", ShownText(session->name, kClientNameShown));
}

// The first connection that the holder is bound to, or is told of its loss by, and that is there.
const Session* ClientOf(const PageCall& call, const LockHolder& holder) {
  const LockService& service = call.parts.Get<LockService>();
  for (const LockClients* clients : {&holder.sessions(), &holder.notify()}) {
    for (const uint64_t connection : *clients) {
      if (const Session* const session = service.FindConnection(connection)) return session;
    }
  }
  return nullptr;
}

void WriteHolder(JsonText& json, const PageCall& call, const LockHolder& holder, const Now& now) {
  json.Object().Key("owner");
  WriteName(json, holder.owner);
  json.Field("token", holder.token)
      .Field("lease_ms", LeaseLeft(holder, now))
      .Field("held_ms", std::max<int64_t>(0, now.ms() - holder.since_ms))
      .Field("lease_whole_ms", int64_t{holder.lease_ms})
      .Field("permits", holder.permits())
      .Field("holds", int64_t{holder.holds})
      .Field("session", !holder.sessions().empty());
  if (!holder.label().empty()) json.Field("label", ShownText(holder.label()));
  WriteClient(json, ClientOf(call, holder));
  json.End();
}

// -1: the name is too long to be looked up.
int64_t WaitersOf(const PageCall& call, LockNameView name) {
  if (name.key.size() > kLookedUpBytesMax) return -1;
  return static_cast<int64_t>(call.parts.Get<LockService>().queue().LengthOf(name));
}

}  // namespace

const Lock* LockAt(const PageCall& call, LockNameView name, const Now& now) {
  const Entry* const entry = EntryAt(call, name, now);
  if (!entry || entry->type() != ValueType::kLock) return nullptr;
  const auto& lock = static_cast<const Lock&>(entry->value());
  return lock.Ended() ? nullptr : &lock;
}

void WriteLock(JsonText& json, const PageCall& call, LockNameView name, const Lock* lock,
               size_t holders_max, const Now& now) {
  const bool is_held = lock && !lock->Ended();
  json.Field("mode", is_held ? kLockModeWords[static_cast<size_t>(lock->mode())] : "free")
      .Field("permits", is_held && lock->mode() == LockMode::kPermits ? lock->permits_of() : 0)
      .Field("token", lock ? lock->newest_token() : 0)
      .Field("waiters", WaitersOf(call, name))
      .Key("holders")
      .Array();
  size_t shown = 0;
  size_t all = 0;
  if (is_held) {
    all = lock->holders().size();
    for (const LockHolder& holder : lock->holders()) {
      if (shown == holders_max) break;
      WriteHolder(json, call, holder, now);
      ++shown;
    }
  }
  json.End().Field("more_holders", all - shown);
}

void WriteWaiters(JsonText& json, const PageCall& call, const WaitQueue::Line& line,
                  size_t waiters_max, const Now& now) {
  size_t shown = 0;
  json.Key("queue").Array();
  for (const auto& [place, queued] : line.all) {
    if (shown == waiters_max) break;
    const LockWait& wait = queued->wait;
    json.Object().Key("owner");
    WriteName(json, wait.request.owner);
    json.Field("waited_ms", std::max<int64_t>(0, now.ms() - wait.since_ms))
        .Field("left_ms", std::max<int64_t>(0, wait.deadline_ms - now.ms()))
        .Field("names", wait.request.names.size())
        .Field("shared", queued->shared());
    WriteClient(json, call.parts.Get<LockService>().FindConnection(wait.client));
    json.End();
    ++shown;
  }
  json.End().Field("more_waiters", line.all.size() - shown);
}

// In the order in which they came to be held, as LOCK.LIST has it; the cursor is the number of the
// last one seen.
HttpAnswer AnswerLocks(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  const Now now = MomentOf(call);
  LockService& service = call.parts.Get<LockService>();
  Search search(call.parts.Get<TurnClock>().clock(), query.match);
  JsonText json;
  json.Object().Key("locks").Array();
  size_t rows = 0;
  const auto visit = [&](const Lock& lock) {
    if (!search.Wants(lock.name().key)) return;
    ++rows;
    json.Object().Key("name");
    WriteName(json, lock.name().key);
    WriteLock(json, call, lock.name(), &lock, kHoldersInList, now);
    json.End();
  };
  // One by one: what there is no time for is left to the next request, and not passed over.
  uint64_t next = query.cursor;
  do {
    next = service.held_locks().List(query.db, next, 1, visit);
  } while (next != 0 && rows < query.rows && json.size() < kAnswerBytesMax && !search.IsOver());
  json.End()
      .Field("cursor", std::to_string(next))
      .Field("passed_over", search.passed_over())
      .Field("held", service.held())
      .End();
  return JsonAnswer(json);
}

// The locks that are waited for, in the order in which the first waiter came.
HttpAnswer AnswerWaits(const PageCall& call) {
  ApiQuery query;
  HttpAnswer answer;
  if (!ReadQuery(call, query, answer)) return answer;
  const Now now = MomentOf(call);
  const LockService& service = call.parts.Get<LockService>();
  Search search(call.parts.Get<TurnClock>().clock(), query.match);
  JsonText json;
  json.Object().Key("locks").Array();
  size_t lines = 0;
  uint64_t next = query.cursor;
  const WaitQueue::Line* line = service.queue().NextLine(query.db, next);
  for (; line; line = service.queue().NextLine(query.db, next)) {
    if (lines == std::min(kLinesMax, query.rows) || json.size() > kAnswerBytesMax ||
        search.IsOver())
      break;
    next = line->number + 1;
    if (!search.Wants(line->name.key)) continue;
    ++lines;
    json.Object().Key("name");
    WriteName(json, line->name.key);
    WriteLock(json, call, line->name, LockAt(call, line->name, now), kHoldersInWaits, now);
    WriteWaiters(json, call, *line, kWaitersInWaits, now);
    json.End();
  }
  if (!line) next = 0;
  json.End()
      .Field("cursor", std::to_string(next))
      .Field("passed_over", search.passed_over())
      .Field("waiting", service.waiting())
      .End();
  return JsonAnswer(json);
}

}  // namespace sluice
