// See answers.h.
#include "server/http/answers.h"

#include "server/core/turn_clock.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

HttpAnswer JsonAnswer(JsonText& json) {
  return {.type = "application/json; charset=utf-8", .body = json.Take(), .headers = {}};
}

Now MomentOf(const PageCall& call) { return call.parts.Get<TurnClock>().clock().Sample(); }

bool ReadQuery(const PageCall& call, ApiQuery& query, HttpAnswer& fault) {
  const int databases = call.parts.Get<Keyspace>().databases();
  const std::string sentence = ReadQuery(call.request.query, databases, query);
  if (!sentence.empty()) fault = HttpSentence(400, sentence);
  return sentence.empty();
}

const Entry* EntryAt(const PageCall& call, KeyNameView name, const Now& now) {
  Keyspace& keyspace = call.parts.Get<Keyspace>();
  if (!keyspace.made(name.db) || name.key.size() > kLookedUpBytesMax) return nullptr;
  const Entry* const entry = keyspace.db(name.db).FindEvenExpired(keyspace.Hash(name.key));
  return entry && !entry->Expired(now) ? entry : nullptr;
}

}  // namespace sluice
