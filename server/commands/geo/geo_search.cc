// Searching for places: GEOSEARCH and the older GEORADIUS commands, which are the same request
// (SearchRequest) with its centre and its circle at fixed positions.
//
// Cost: O(N + log M), where N are the members in the nine cells around the area and M all; cells
// are chosen as small as the area allows. It runs in one piece.
//
//   GEOSEARCH shops FROMLONLAT 2 49 BYRADIUS 400 KM ASC COUNT 2 WITHDIST
//
//   command                        centre              event of the target
//   GEOSEARCH                      an option
//   GEOSEARCHSTORE                 an option           geosearchstore, or del
//   GEORADIUS [STORE key]          behind the key      georadiusstore, or del
//   GEORADIUSBYMEMBER [STORE key]  behind the key      georadiusstore, or del

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/commands/families.h"
#include "server/commands/geo/geo_args.h"
#include "server/commands/geo/geo_places.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/sorted_sets/sorted_set_args.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// The parts of a search that the command's name says.
struct SearchForm {
  enum class Centre : uint8_t { kOption, kPoint, kMember };
  Centre centre = Centre::kOption;  // or where it stands behind the key
  bool stores = false;              // into the key before the one that is searched
  bool may_store = false;           // with STORE and STOREDIST
  size_t key_at = 1;
};

// One centre and one shape; the flags tell whether they came, as every coordinate is a valid one.
struct SearchRequest {
  GeoShape shape;
  bool from_member = false;
  bool from_point = false;
  bool by_radius = false;
  bool by_box = false;
  GeoPlaces::Wanted wanted;
  bool with_distance = false;
  bool with_hash = false;
  bool with_coordinates = false;
  std::optional<std::string_view> store;  // key
  bool store_distance = false;
};

// --- reading

// Each number has a sentence of its own when it is none.
double TakeSize(ArgReader& args, std::string_view fault) {
  const std::optional<double> size = ParseDouble(args.Bytes());
  if (!size) args.Fail(std::string(fault));
  return size.value_or(0);
}

// The sign is looked at before the unit, as in Redis.
void TakeRadius(ArgReader& args, GeoShape& shape) {
  shape.is_box = false;
  shape.radius = TakeSize(args, "ERR need numeric radius");
  if (!args.failed() && shape.radius < 0) args.Fail("ERR radius cannot be negative");
  if (!args.failed()) shape.unit_metres = TakeUnit(args);
}

// Width, height, unit.
void TakeBox(ArgReader& args, GeoShape& shape) {
  shape.is_box = true;
  shape.width = TakeSize(args, "ERR need numeric width");
  if (!args.failed()) shape.height = TakeSize(args, "ERR need numeric height");
  if (!args.failed() && (shape.width < 0 || shape.height < 0)) {
    args.Fail("ERR height or width cannot be negative");
  }
  if (!args.failed()) shape.unit_metres = TakeUnit(args);
}

// A member that is missing in a set that is there is an error, not an empty answer. Nothing is
// known of a missing set; the request is read to its end all the same.
void TakeMember(ArgReader& args, const SortedSet* set, GeoShape& shape) {
  const std::string_view name = args.Bytes();
  if (!set) return;
  const std::optional<GeoPoint> point = PointOfMember(*set, name);
  if (!point) return args.Fail("ERR could not decode requested zset member");
  shape.centre = *point;
}

// A request while its options are read.
struct Reading {
  const SearchForm& form;
  const SortedSet* set;
  SearchRequest& request;
};

// Rows of the table below.
template <auto kFlag>
void Raise(ArgReader&, Reading& reading) {
  reading.request.*kFlag = true;
}
template <auto kMember, auto kValue>
void AssignWanted(ArgReader&, Reading& reading) {
  reading.request.wanted.*kMember = kValue;
}

template <bool kDistance>
void ReadStore(ArgReader& args, Reading& reading) {
  reading.request.store_distance = kDistance;
  reading.request.store = args.Bytes();
}

void ReadFromMember(ArgReader& args, Reading& reading) {
  reading.request.from_member = true;
  TakeMember(args, reading.set, reading.request.shape);
}

void ReadFromPoint(ArgReader& args, Reading& reading) {
  reading.request.from_point = true;
  reading.request.shape.centre = TakePoint(args);
}

void ReadRadius(ArgReader& args, Reading& reading) {
  reading.request.by_radius = true;
  TakeRadius(args, reading.request.shape);
}

void ReadBox(ArgReader& args, Reading& reading) {
  reading.request.by_box = true;
  TakeBox(args, reading.request.shape);
}

// ANY may stand before it or behind it.
void ReadCount(ArgReader& args, Reading& reading) {
  reading.request.wanted.count = args.Int();
  if (!args.failed() && reading.request.wanted.count <= 0) args.Fail("ERR COUNT must be > 0");
}

// The forms differ in what they may do with the result.
bool Stores(const Reading& reading) { return reading.form.stores; }
bool MayStore(const Reading& reading) { return reading.form.may_store; }
// Centre and shape are options, and none that excludes the other of them has come.
template <bool SearchRequest::*kOther>
bool MayComeBeside(const Reading& reading) {
  return reading.form.centre == SearchForm::Centre::kOption && !(reading.request.*kOther);
}

// STOREDIST has two rows: a flag for GEOSEARCHSTORE, a word with a key for GEORADIUS.
constexpr OptionRow<Reading> kGeoSearchOptions[] = {
    {"WITHDIST", Raise<&SearchRequest::with_distance>},
    {"WITHHASH", Raise<&SearchRequest::with_hash>},
    {"WITHCOORD", Raise<&SearchRequest::with_coordinates>},
    {"ANY", AssignWanted<&GeoPlaces::Wanted::any, true>},
    {"ASC", AssignWanted<&GeoPlaces::Wanted::order, GeoOrder::kNearestFirst>},
    {"DESC", AssignWanted<&GeoPlaces::Wanted::order, GeoOrder::kFarthestFirst>},
    {"STOREDIST", Raise<&SearchRequest::store_distance>, 0, Stores},
    {"STOREDIST", ReadStore<true>, 1, MayStore},
    {"STORE", ReadStore<false>, 1, MayStore},
    {"FROMMEMBER", ReadFromMember, 1, MayComeBeside<&SearchRequest::from_point>},
    {"FROMLONLAT", ReadFromPoint, 2, MayComeBeside<&SearchRequest::from_member>},
    {"BYRADIUS", ReadRadius, 2, MayComeBeside<&SearchRequest::by_box>},
    {"BYBOX", ReadBox, 3, MayComeBeside<&SearchRequest::by_radius>},
    {"COUNT", ReadCount, 1},
};

// Faults that only the whole request shows, in Redis's order. The sentence names the command as the
// client wrote it.
void CheckOptions(ArgReader& args, const CommandCall& call, const SearchForm& form,
                  const SearchRequest& request) {
  const bool with = request.with_distance || request.with_hash || request.with_coordinates;
  const bool shaped = form.centre == SearchForm::Centre::kOption;
  if (request.store && with) {
    args.Fail(Concat("ERR ", form.stores ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS",
                     " is not compatible with WITHDIST, WITHHASH and WITHCOORD options"));
  } else if (shaped && !request.from_member && !request.from_point) {
    args.Fail(
        Concat("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for ", call.args[0]));
  } else if (shaped && !request.by_radius && !request.by_box) {
    args.Fail(Concat("ERR exactly one of BYRADIUS and BYBOX can be specified for ", call.args[0]));
  } else if (request.wanted.any && request.wanted.count == 0) {
    args.Fail("ERR the ANY argument requires COUNT argument");
  }
}

// The older commands have centre and radius at fixed places. For a missing key BYMEMBER skips them
// unread: a bad radius is then no fault, as in Redis. False: the error has been answered.
bool ReadRequest(CommandCall& call, const SearchForm& form, const SortedSet* set,
                 SearchRequest& request) {
  ArgReader args(call.args, form.key_at + 1);
  if (form.stores) request.store = call.args[1];
  if (form.centre == SearchForm::Centre::kPoint) {
    request.shape.centre = TakePoint(args);
    if (!args.failed()) TakeRadius(args, request.shape);
  } else if (form.centre == SearchForm::Centre::kMember) {
    TakeMember(args, set, request.shape);
    if (set && !args.failed()) TakeRadius(args, request.shape);
    if (!set) args.Skip(2);
  }
  Reading reading{form, set, request};
  ReadOptions(args, kGeoSearchOptions, reading);
  if (!args.failed()) CheckOptions(args, call, form, request);
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// --- searching

// The areas do not overlap, so no place comes twice. With ANY the walk ends as soon as there are
// enough.
std::vector<GeoPlace> Search(const SortedSet& set, const SearchRequest& request) {
  GeoPlaces places(request.wanted);
  for (const ScoreRange& scores : request.shape.Scores()) {
    if (places.complete()) break;
    const auto visit = [&](std::string_view name, double score) {
      const GeoPoint point = PointOfScore(score);
      double metres = 0;
      if (request.shape.Holds(point, metres)) places.Add(name, score, point, metres);
      return !places.complete();
    };
    set.ForEach(set.Between(scores), SortedSet::Direction::kUp, visit);
  }
  return std::move(places).Take();
}

// Bare names without a WITH option; otherwise an array for each place, with the extras always in
// the order distance, hash, coordinates.
void ReplyPlaces(CommandCall& call, const SearchRequest& request,
                 const std::vector<GeoPlace>& places) {
  const size_t extras =
      request.with_distance + size_t{request.with_hash} + request.with_coordinates;
  call.reply.Array(places.size());
  for (const GeoPlace& place : places) {
    if (extras > 0) call.reply.Array(1 + extras);
    call.reply.Bulk(place.name);
    if (request.with_distance)
      ReplyDistance(call.reply, place.distance / request.shape.unit_metres);
    if (request.with_hash) call.reply.Integer(static_cast<int64_t>(place.score));
    if (request.with_coordinates) ReplyPoint(call.reply, place.point);
  }
}

// Stores places, or with STOREDIST their distances in the unit of the request. An empty result
// deletes the target. The effect is the command: the same set gives the same places.
void StorePlaces(CommandCall& call, const SearchForm& form, const SearchRequest& request,
                 const std::vector<GeoPlace>& places) {
  auto result = std::make_unique<SortedSet>();
  const SortedSet::Limits limits = SortedSetLimits(call);
  for (const GeoPlace& place : places) {
    // Distances inside are metres.
    const double distance = place.distance / request.shape.unit_metres;
    result->Put(place.name, request.store_distance ? distance : place.score, limits);
  }
  StoreSortedSet(call, call.keyspace.Hash(*request.store), std::move(result),
                 form.stores ? "geosearchstore" : "georadiusstore");
}

// The type of the key comes before the grammar. With STORE a missing key is an empty result, which
// deletes the target. After `GEOADD g 2.35 48.85 paris 13.4 52.5 berlin`:
//   GEOSEARCH g FROMMEMBER paris BYRADIUS 900 km DESC           → ["berlin", "paris"]
//   GEOSEARCH g FROMLONLAT 2 49 BYBOX 100 100 km WITHDIST       → [["paris", "30.5385"]]
//   GEOSEARCH g FROMMEMBER nothing BYRADIUS 1 km                → -ERR could not decode ...
//   GEOSEARCH nothing FROMMEMBER paris BYRADIUS 1 km            → []
//   GEOSEARCH g BYRADIUS 1 km ASC COUNT 1                       → -ERR exactly one of ...
//   GEOSEARCHSTORE t g FROMMEMBER paris BYRADIUS 1 m STOREDIST  → 1
void Run(CommandCall& call, const SearchForm& form) {
  const Typed<SortedSet> set = FindTyped<SortedSet>(call, call.Key(form.key_at));
  if (set.refused) return;
  SearchRequest request;
  if (!ReadRequest(call, form, set ? &*set : nullptr, request)) return;
  const std::vector<GeoPlace> places = set ? Search(*set, request) : std::vector<GeoPlace>();
  if (request.store) return StorePlaces(call, form, request, places);
  ReplyPlaces(call, request, places);
}

void GeoSearch(CommandCall& call) { Run(call, {}); }
void GeoSearchStore(CommandCall& call) { Run(call, {.stores = true, .key_at = 2}); }
void GeoRadius(CommandCall& call) {
  Run(call, {.centre = SearchForm::Centre::kPoint, .may_store = true});
}
void GeoRadiusRo(CommandCall& call) { Run(call, {.centre = SearchForm::Centre::kPoint}); }
void GeoRadiusByMember(CommandCall& call) {
  Run(call, {.centre = SearchForm::Centre::kMember, .may_store = true});
}
void GeoRadiusByMemberRo(CommandCall& call) { Run(call, {.centre = SearchForm::Centre::kMember}); }

// --- keys

// STORE before STOREDIST, as Redis tells them; of one that comes twice both, though the last
// counts.
bool FindRadiusKeys(const Request& request, SearchForm::Centre centre, std::vector<KeyUse>& keys) {
  keys.push_back({1, kKeyRo | kKeyAccess});
  const SearchForm form{.centre = centre, .may_store = true};
  SearchRequest ignored;
  const Reading reading{form, nullptr, ignored};
  // Behind the key: a point or a member, a radius, a unit.
  const size_t options_at = centre == SearchForm::Centre::kPoint ? 6 : 5;
  for (const auto store : {ReadStore<false>, ReadStore<true>}) {
    const auto see = [&](const OptionRow<Reading>& row, size_t at) {
      if (row.read == store) keys.push_back({static_cast<int>(at + 1), kKeyOw | kKeyUpdate});
    };
    SeeOptions(ArgReader(request.args, options_at), kGeoSearchOptions, reading, see);
  }
  return true;
}
template <SearchForm::Centre kCentre>
bool FindRadiusKeys(const Request& request, std::vector<KeyUse>& keys) {
  return FindRadiusKeys(request, kCentre, keys);
}

// --- the table

// Where STORE and STOREDIST put the result.
constexpr KeySpecs StoreKeys(int16_t from) {
  return {{KeySpec{.flags = kKeyOw | kKeyUpdate, .begin = from, .keyword = "STORE"},
           KeySpec{.flags = kKeyOw | kKeyUpdate, .begin = from, .keyword = "STOREDIST"}},
          2};
}

// GEORADIUS may write, because STORE may come, so replicas and read-only users need the _RO form.
constexpr CommandRow kGeoSearchListed[] = {
    {.name = "GEOSEARCH",
     .arity = -7,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoSearch,
     .since = "6.2.0",
     .complexity =
         "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area "
         "around the shape provided as the filter and M is the number of items inside the shape",
     .usage = "key from=<FROMMEMBER member | FROMLONLAT longitude:double latitude:double> "
              "by=<circle=<BYRADIUS <radius:double> unit=<M | KM | FT | MI>> | box=<BYBOX "
              "<width:double> height:double unit=<M | KM | FT | MI>>> order=[ASC | DESC] [COUNT "
              "count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
     .summary = "The members inside a circle or a box.",
     .history = "7.0.0 Added support for uppercase unit names."},
    {.name = "GEOSEARCHSTORE",
     .arity = -8,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyOw | kKeyUpdate) + KeyAt(2, kKeyRo | kKeyAccess),
     .run = GeoSearchStore,
     .since = "6.2.0",
     .complexity =
         "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area "
         "around the shape provided as the filter and M is the number of items inside the shape",
     .usage = "destination source from=<FROMMEMBER member | FROMLONLAT longitude:double "
              "latitude:double> by=<circle=<BYRADIUS <radius:double> unit=<M | KM | FT | MI>> | "
              "box=<BYBOX <width:double> height:double unit=<M | KM | FT | MI>>> order=[ASC | "
              "DESC] [COUNT count [ANY]] [STOREDIST]",
     .summary = "Store the members inside a circle or a box; how many they are.",
     .history = "7.0.0 Added support for uppercase unit names."},
    {.name = "GEORADIUS",
     .arity = -6,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .keys = KeyAt(1, kKeyRo | kKeyAccess) + StoreKeys(6),
     .run = GeoRadius,
     .since = "3.2.0",
     .complexity =
         "O(N+log(M)) where N is the number of elements inside the bounding box of the circular "
         "area delimited by center and radius and M is the number of items inside the index.",
     .usage = "key longitude:double latitude:double radius:double unit=<M | KM | FT | MI> "
              "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]@6.2.0] order=[ASC | DESC] "
              "[STORE key] [STOREDIST key]",
     .summary = "The members within a distance of a point, answered or stored.",
     .history =
         "6.2.0 Added the `ANY` option for `COUNT`.|7.0.0 Added support for uppercase unit names.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
     .find_keys = FindRadiusKeys<SearchForm::Centre::kPoint>},
    {.name = "GEORADIUS_RO",
     .arity = -6,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoRadiusRo,
     .since = "3.2.10",
     .complexity =
         "O(N+log(M)) where N is the number of elements inside the bounding box of the circular "
         "area delimited by center and radius and M is the number of items inside the index.",
     .usage = "key longitude:double latitude:double radius:double unit=<M | KM | FT | MI> "
              "[WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]@6.2.0] order=[ASC | DESC]",
     .summary = "The members within a distance of a point.",
     .history = "6.2.0 Added the `ANY` option for `COUNT`.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`GEOSEARCH` with the `BYRADIUS` argument"},
    {.name = "GEORADIUSBYMEMBER",
     .arity = -5,
     .flags = kWrite | kDenyOom | kMovableKeys,
     .keys = KeyAt(1, kKeyRo | kKeyAccess) + StoreKeys(5),
     .run = GeoRadiusByMember,
     .since = "3.2.0",
     .complexity =
         "O(N+log(M)) where N is the number of elements inside the bounding box of the circular "
         "area delimited by center and radius and M is the number of items inside the index.",
     .usage = "key member radius:double unit=<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
              "[COUNT count [ANY]] order=[ASC | DESC] [STORE key] [STOREDIST key]",
     .summary = "The members within a distance of another, answered or stored.",
     .history = "7.0.0 Added support for uppercase unit names.",
     .deprecated_since = "6.2.0",
     .replaced_by =
         "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
     .find_keys = FindRadiusKeys<SearchForm::Centre::kMember>},
    {.name = "GEORADIUSBYMEMBER_RO",
     .arity = -5,
     .flags = kReadOnly,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = GeoRadiusByMemberRo,
     .since = "3.2.10",
     .complexity =
         "O(N+log(M)) where N is the number of elements inside the bounding box of the circular "
         "area delimited by center and radius and M is the number of items inside the index.",
     .usage = "key member radius:double unit=<M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] "
              "[COUNT count [ANY]] order=[ASC | DESC]",
     .summary = "The members within a distance of another.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments"},
};
constexpr auto kGeoSearchRows = RowsOf(kGeoSearchListed, {.categories = kCatGeo, .group = "geo"});

}  // namespace

CommandFamily GeoSearchFamily() { return {"geo_search", kSpecsOf<kGeoSearchRows>}; }

}  // namespace sluice
