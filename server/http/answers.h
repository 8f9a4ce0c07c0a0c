// Answers that the page asks for as JSON, a function each; their paths are rows of pages.cc. Each
// is bounded in what it looks at and in its size: what is left out is counted, or can be asked for
// with the cursor that the answer gives ("0" at the end).
//
//   lock_answers.cc     /api/locks, /api/waits
//   limit_answers.cc    /api/limits
//   key_answers.cc      /api/keys, /api/key
//   server_answers.cc   /api/overview, /api/history, /api/slowlog
//
// Times that are left or have passed are ms at the moment of the answer; a cursor is a text, as it
// may be above 2^53.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/http/page_call.h"
#include "server/http/text/json_text.h"
#include "server/http/text/query.h"
#include "storage/keyspace/entry.h"
#include "storage/locks/lock.h"
#include "storage/locks/wait_queue.h"
#include "storage/time/clock.h"

namespace sluice {

// An answer takes no more rows when it has so many bytes.
inline constexpr size_t kAnswerBytesMax = 128 * 1024;
inline constexpr size_t kAnswerRowsMax = kQueryRowsMax;
// A longer name is shown where a walk meets it, but nothing is looked up by it: hashing it takes
// longer than an answer may.
inline constexpr size_t kLookedUpBytesMax = 16 * 1024;

HttpAnswer AnswerLocks(const PageCall& call);
HttpAnswer AnswerWaits(const PageCall& call);
HttpAnswer AnswerLimits(const PageCall& call);
HttpAnswer AnswerKeys(const PageCall& call);
HttpAnswer AnswerKey(const PageCall& call);
HttpAnswer AnswerOverview(const PageCall& call);
HttpAnswer AnswerHistory(const PageCall& call);
HttpAnswer AnswerSlowLog(const PageCall& call);

// --- what they share
HttpAnswer JsonAnswer(JsonText& json);
// The time as it is now, not that of the last turn.
Now MomentOf(const PageCall& call);
// The request's query. False: it has a fault, which is the answer.
bool ReadQuery(const PageCall& call, ApiQuery& query, HttpAnswer& fault);
// `"mode":..,"permits":..,"token":..,"holders":[..],"more_holders":..,"waiters":..` of an object.
void WriteLock(JsonText& json, const PageCall& call, LockNameView name, const Lock* lock,
               size_t holders_max, const Now& now);
// `"queue":[..],"more_waiters":..`: who waits for it, first come first.
void WriteWaiters(JsonText& json, const PageCall& call, const WaitQueue::Line& line,
                  size_t waiters_max, const Now& now);
// The entry of that name; a key past its deadline is none, and stays. Null: there is none, or the
// name is longer than those that are looked up.
const Entry* EntryAt(const PageCall& call, KeyNameView name, const Now& now);
// Null: no owner holds it.
const Lock* LockAt(const PageCall& call, LockNameView name, const Now& now);

}  // namespace sluice
