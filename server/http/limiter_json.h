// The part of a limiter or leaky bucket that the page shows: how full it is.
#pragma once

#include "server/http/page_call.h"
#include "server/http/text/json_text.h"
#include "storage/hashing/key_name.h"
#include "storage/keyspace/entry.h"
#include "storage/time/clock.h"

namespace sluice {

// `"limiter":{..}` or `"bucket":{..}` of an object; nothing if the entry is neither. O(log of its
// requests).
void WriteLimiter(JsonText& json, const PageCall& call, KeyNameView name, const Entry& entry,
                  const Now& now);

}  // namespace sluice
