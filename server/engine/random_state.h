// RandomState: where each generator of an engine stands. It is a value: taken from one engine
// (Engine::SaveRandom) it makes another go on as that would, or the same one as it once did.
//
// All chance there is comes from these: members and keys that are drawn, run ids and what else is
// made up (choices); under which secret each table is hashed, and so in which order SCAN, KEYS,
// HGETALL and their like tell what is in a table that is made from now on (tables, values);
// math.random (scripts). Numbers given by counting or by the clock (client ids, tokens, the ids of
// streams) are no chance. Tables that are there keep their secrets.
#pragma once

#include "scripting/lua/random.h"
#include "storage/hashing/key_hash.h"
#include "storage/hashing/random.h"

namespace sluice {

struct RandomState {
  Random choices;
  HashKeys::State tables;  // beside the keyspace
  HashKeys::State values;  // of keys
  RedisRandom scripts;

  bool operator==(const RandomState&) const = default;
};

}  // namespace sluice
