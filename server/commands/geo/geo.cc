// The geo family: places as members of a sorted set, put in and asked for by name. Searching is in
// geo_search.cc.
//
// A place is a member whose score is its cell of 52 bits, so every sorted-set command works on it
// too. The position that comes back is the middle of the cell, some 0.3 m off at most.
//
//   > GEOADD shops -0.1276 51.5072 london 2.3522 48.8566 paris
//   > GEODIST shops london paris km
//
//   command    missing member    event    effect
//   GEOADD     made              zadd     itself
//   GEODIST    null
//   GEOHASH    null
//   GEOPOS     a null array

#include "absl/container/inlined_vector.h"
#include "server/commands/families.h"
#include "server/commands/geo/geo_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_add.h"

namespace sluice {
namespace {

// ZADD with points: words, then the number of arguments, then every point, then the key. One point
// off the map refuses them all. The effect is the command itself.
//   GEOADD g 2.35 48.85 paris 13.4 52.5 berlin  → 2
//   GEOADD g XX CH 2.3 48.8 paris               → 1
//   GEOADD g 181 0 x                            → -ERR invalid longitude,latitude pair ...
void GeoAdd(CommandCall& call) {
  ArgReader args(call.args, 2);
  AddOptions options;
  while (TakeAddOption(args, options, false)) {
  }
  const size_t first = args.position();
  if (args.left() == 0 || args.left() % 3 != 0 || (options.nx && options.xx)) {
    return call.reply.Error(ErrorCode::kSyntax);
  }
  absl::InlinedVector<double, 16> scores;
  while (args.more()) {
    const GeoPoint point = TakePoint(args);
    // Reading goes on behind a fault without effect, so one look at the end is enough.
    if (!args.failed()) scores.push_back(ScoreOfPoint(point));
    args.Skip();
  }
  if (args.failed()) return call.reply.Error(args.error());
  AddMembers(call, options, {scores.data(), scores.size()}, first + 2, 3);
}

// The unit comes before the key, so a bad one wins over WRONGTYPE. A missing member is null. After
// `GEOADD g 2.35 48.85 paris 13.4 52.5 berlin`:
//   GEODIST g paris berlin km     → "877.0468"
//   GEODIST g paris nothing       → nil
//   GEODIST g paris berlin miles  → -ERR unsupported unit provided. please use M, KM, FT, MI
void GeoDist(CommandCall& call) {
  ArgReader args(call.args, 4);
  double unit_metres = 1;
  if (args.left() > 1) return call.reply.Error(ErrorCode::kSyntax);
  if (args.more()) unit_metres = TakeUnit(args);
  if (args.failed()) return call.reply.Error(args.error());
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  if (!set) return call.reply.Null();
  const std::optional<GeoPoint> a = PointOfMember(*set, call.args[2]);
  const std::optional<GeoPoint> b = PointOfMember(*set, call.args[3]);
  if (!a || !b) return call.reply.Null();
  ReplyDistance(call.reply, DistanceMetres(*a, *b) / unit_metres);
}

// Eleven characters, the last one always 0: 52 bits fill ten of them. After
// `GEOADD g 2.35 48.85 paris`:
//   GEOHASH g paris nothing  → ["u09tvkz5yg0", nil]
//   GEOHASH nothing paris    → [nil]
void GeoHash(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) {
    const std::optional<GeoPoint> point = set ? PointOfMember(*set, name) : std::nullopt;
    point ? call.reply.Bulk(GeohashText(*point)) : call.reply.Null();
  }
}

// A missing member is a null array here, since the answer would be an array of two.
void GeoPos(CommandCall& call) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(1));
  if (set.refused) return;
  call.reply.Array(call.args.size() - 2);
  for (const std::string_view name : call.args.subspan(2)) {
    const std::optional<GeoPoint> point = set ? PointOfMember(*set, name) : std::nullopt;
    point ? ReplyPoint(call.reply, *point) : call.reply.NullArray();
  }
}

// --- the table

// The keys are sorted sets: their commands, their type and their events (zadd) are what clients
// see.
constexpr CommandRow kGeoRows[] = {
    {.name = "GEOADD",
     .arity = -5,
     .flags = kWrite | kDenyOom,
     .categories = kCatGeo,
     .keys = KeyAt(1, kKeyRw | kKeyUpdate),
     .run = GeoAdd,
     .group = "geo",
     .since = "3.2.0",
     .complexity =
         "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
     .usage = "key [NX | XX]@6.2.0 [change=CH]@6.2.0 longitude:double latitude:double member "
              "[longitude:double latitude:double member ...]",
     .summary = "Put members at longitudes and latitudes; how many are new.",
     .history = "6.2.0 Added the `CH`, `NX` and `XX` options."},
    {.name = "GEODIST",
     .arity = -4,
     .flags = kReadOnly,
     .categories = kCatGeo,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoDist,
     .group = "geo",
     .since = "3.2.0",
     .complexity = "O(log(N))",
     .usage = "key member1 member2 unit=[M | KM | FT | MI]",
     .summary = "How far two members lie apart."},
    {.name = "GEOHASH",
     .arity = -2,
     .flags = kReadOnly,
     .categories = kCatGeo,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoHash,
     .group = "geo",
     .since = "3.2.0",
     .complexity = "O(log(N)) for each member requested, where N is the number of elements in the "
                   "sorted set.",
     .usage = "key member [member ...]",
     .summary = "Where members lie, as standard geohash texts."},
    {.name = "GEOPOS",
     .arity = -2,
     .flags = kReadOnly,
     .categories = kCatGeo,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoPos,
     .group = "geo",
     .since = "3.2.0",
     .complexity = "O(N) where N is the number of members requested.",
     .usage = "key member [member ...]",
     .summary = "The longitudes and latitudes of members."},
};

}  // namespace

CommandFamily GeoFamily() { return {"geo", kSpecsOf<kGeoRows>}; }

}  // namespace sluice
