// The names of RDB's types, in listings and in sentences.
#pragma once

#include <string_view>

#include "storage/rdb/rdb_format.h"

namespace sluice {

// As TYPE says it, and in which form the file has it: "hash" and "ziplist". Both are empty for a
// byte that is no type. A module's value says by its own name what it is.
struct RdbTypeName {
  RdbType type;
  std::string_view name;
  std::string_view form;
};

// Every type that is read.
inline constexpr RdbTypeName kRdbTypeNames[] = {
    {RdbType::kString, "string", "text"},
    {RdbType::kList, "list", "texts"},
    {RdbType::kSet, "set", "texts"},
    {RdbType::kSortedSetText, "zset", "texts, scores as text"},
    {RdbType::kHash, "hash", "texts"},
    {RdbType::kSortedSet, "zset", "texts"},
    {RdbType::kModule, "module", "parts"},
    {RdbType::kHashZipmap, "hash", "zipmap"},
    {RdbType::kListZiplist, "list", "ziplist"},
    {RdbType::kSetIntset, "set", "intset"},
    {RdbType::kSortedSetZiplist, "zset", "ziplist"},
    {RdbType::kHashZiplist, "hash", "ziplist"},
    {RdbType::kQuicklistZiplists, "list", "quicklist of ziplists"},
    {RdbType::kStream1, "stream", "first form"},
    {RdbType::kHashListpack, "hash", "listpack"},
    {RdbType::kSortedSetListpack, "zset", "listpack"},
    {RdbType::kQuicklist, "list", "quicklist"},
    {RdbType::kStream2, "stream", "second form"},
    {RdbType::kSetListpack, "set", "listpack"},
    {RdbType::kStream3, "stream", "third form"},
    {RdbType::kStream4, "stream", "fourth form"},
    {RdbType::kStream5, "stream", "fifth form"},
    {RdbType::kValkeyHash, "hash", "texts with deadlines, Valkey's"},
    {RdbType::kHashFieldTtlRc, "hash", "texts with deadlines, of Redis 7.4's release candidates"},
    {RdbType::kHashListpackFieldTtlRc, "hash",
     "listpack with deadlines, of Redis 7.4's release candidates"},
    {RdbType::kHashFieldTtl, "hash", "texts with deadlines"},
    {RdbType::kHashListpackFieldTtl, "hash", "listpack with deadlines"},
};

// A search through some twenty rows.
constexpr RdbTypeName RdbTypeNameOf(RdbType type) {
  for (const RdbTypeName& row : kRdbTypeNames) {
    if (row.type == type) return row;
  }
  return {type, {}, {}};
}

}  // namespace sluice
