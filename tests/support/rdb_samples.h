// A small RDB file for each type, in each form that a server has ever written: read by unit tests,
// and the fuzzer's seeds (tests/fuzz/corpus/rdb_file_fuzz has them as files).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "storage/listpack/listpack.h"
#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_limits.h"
#include "storage/rdb/rdb_lock.h"
#include "storage/rdb/rdb_module.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {

// The file with its end and the right checksum behind it.
inline std::string SealedRdb(std::string file) {
  file.push_back('\xff');
  const uint64_t crc = Crc64(file);
  RdbWriter(file).Int64(static_cast<int64_t>(crc));
  return file;
}

// With values of a module that is not known here beside keys and as a key, and a key behind them:
// redis-server with RedisBloom would write such.
inline std::string FileOfAModule() {
  using namespace std::string_view_literals;
  std::string parts = "REDIS0010\xf7";
  RdbWriter writer(parts);
  const uint64_t id = RdbModuleType{"MBbloom--", 4}.id();
  writer.Length(id);
  parts.append("\2\1\2\5\5\3abc\0"sv);
  parts.append("\xfe\0\7\5bloom"sv);
  writer.Length(id);
  parts.append(
      "\2\x0a\1\x81\xff\xff\xff\xff\xff\xff\xff\xff\3abcd\4"
      "abcdefgh\5\xc1\1\2\5\x05hello\0"sv);
  parts.append("\0\1k\1v"sv);
  return SealedRdb(parts);
}

struct RdbSample {
  std::string name;  // of its seed's file
  RdbType type;
  std::string value;
  std::string header = "REDIS0010";

  std::string File() const {
    std::string file = header + std::string("\xfe\0", 2);
    RdbWriter writer(file);
    writer.Type(type == RdbType::kValkeyHash ? RdbType::kHashFieldTtlRc : type);  // the same number
    writer.String("key");
    writer.Raw(value);
    return SealedRdb(file);
  }
};

namespace rdb_samples {

using namespace std::string_view_literals;

inline std::string Texts(std::initializer_list<std::string_view> texts,
                         std::string_view before = {}) {
  std::string bytes(before);
  RdbWriter writer(bytes);
  for (const std::string_view text : texts) writer.String(text);
  return bytes;
}

inline std::string Listpack(std::initializer_list<std::string_view> texts) {
  ListpackWriter listpack;
  for (const std::string_view text : texts) listpack.Text(text);
  return listpack.Finish();
}

constexpr auto kZiplist =
    "\x19\0\0\0\x14\0\0\0\x04\0\0\x03"
    "abc\x05\xf3\x02\xfe\x80\x03\xc0\x10\x27\xff"sv;
constexpr auto kScores =
    "\x15\0\0\0\x12\0\0\0\x04\0\0\x01"
    "a\x03\xf3\x02\x01"
    "b\x03\xf4\xff"sv;
constexpr auto kZipmap =
    "\x01\x03"
    "foo\x03\x02"
    "barxx\xff"sv;
constexpr auto kIntset = "\x02\0\0\0\x03\0\0\0\xfd\xff\x01\0\x2c\x01"sv;

// Entries 1-1 and 1-2; a group in which a consumer has been given the first.
inline std::string StreamOf(RdbType type) {
  constexpr auto kId = "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1"sv;
  constexpr auto kMoment = "\0\x68\xe5\xcf\x8b\1\0\0"sv;
  std::string bytes = "\1";
  RdbWriter writer(bytes);
  writer.String(kId);
  writer.String(Listpack(
      {"2", "0", "1", "f", "0", "2", "0", "0", "v", "4", "0", "0", "1", "1", "g", "w", "6"}));
  writer.Raw("\2\1\2"sv);                                     // length, last id
  if (type != RdbType::kStream1) writer.Raw("\1\1\0\0\2"sv);  // first, deleted, added
  writer.Raw("\1\1g\1\1"sv);                                  // a group, its last id
  if (type != RdbType::kStream1) writer.Length(1);            // entries read
  writer.Length(1);
  for (const std::string_view part : {kId, kMoment, "\3"sv}) writer.Raw(part);
  writer.Raw("\1\2me"sv);
  writer.Raw(kMoment);
  const bool is_redis_8 = type == RdbType::kStream4 || type == RdbType::kStream5;
  if (type == RdbType::kStream3 || is_redis_8) writer.Raw(kMoment);
  writer.Length(1);
  writer.Raw(kId);
  if (type == RdbType::kStream5) writer.Raw("\0"sv);  // nothing is unowned
  // How long and how many, a producer with an id and its entry, how many came and came again.
  if (is_redis_8) writer.Raw("\x40\x64\x40\x64\1\1p\1\3one\1\1\1\0"sv);
  return bytes;
}

// Behind the byte of the type.
template <typename Write>
std::string ModuleOf(const RdbModuleType& type, Write write) {
  std::string bytes;
  RdbWriter out(bytes);
  ModuleWriter writer(type, out);
  write(writer);
  writer.End();
  return bytes.substr(1);
}

constexpr int64_t kLater = 1'700'000'100'000;

inline std::vector<RdbSample> Modules() {
  const auto unsigned_all = [](ModuleWriter& writer, std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) writer.Unsigned(value);
  };
  const auto untimed_holder = [&](ModuleWriter& writer) {
    writer.Unsigned(7);
    writer.Text("me");
    writer.Text("label");
    unsigned_all(writer, {1, 2, 0, 1});
    writer.Signed(kLater);
    writer.Unsigned(0);
  };
  const auto holder = [&](ModuleWriter& writer) {
    untimed_holder(writer);
    writer.Signed(kLater - 60'000);
    writer.Unsigned(100'000);
  };
  const auto untimed_lock = [&](ModuleWriter& writer) {
    unsigned_all(writer, {7, 0, 1, 1});
    untimed_holder(writer);
  };
  const auto large_untimed_lock = [&](ModuleWriter& writer) {
    unsigned_all(writer, {9, 0, 1, 1});
    untimed_holder(writer);
    writer.Unsigned(0);
  };
  const auto lock = [&](ModuleWriter& writer) {
    unsigned_all(writer, {7, 0, 1, 1});
    holder(writer);
  };
  const auto large_lock = [&](ModuleWriter& writer) {
    unsigned_all(writer, {9, 0, 1, 1});
    holder(writer);
    writer.Unsigned(0);
  };
  const auto limiter = [&](ModuleWriter& writer) {
    unsigned_all(writer, {static_cast<uint64_t>(LimitAlgorithm::kWindow), 5, 100'000, 0, 0, 1});
    writer.Signed(kLater);
    writer.Unsigned(3);
  };
  const auto bucket = [&](ModuleWriter& writer) {
    writer.Unsigned(2);
    writer.Signed(kLater);
    unsigned_all(writer, {0, 3, 50, 4});
  };
  const auto large_bucket = [&](ModuleWriter& writer) {
    writer.Signed(kLater);
    unsigned_all(writer, {3, 10, 4, 50, 0, 2, 7, 0});
  };
  const auto log = [&](ModuleWriter& writer) {
    unsigned_all(writer, {static_cast<uint64_t>(LimitAlgorithm::kLog), 9, 100'000, 0, 0, 1, 9, 2});
    writer.Signed(kLater);
    unsigned_all(writer, {0, 3, 50, 4});
  };
  const auto hash = [&](ModuleWriter& writer) {
    writer.Unsigned(2);
    for (const std::string_view text : {"f", "v"}) writer.Text(text);
    writer.Unsigned(0);
    for (const std::string_view text : {"timed", "12"}) writer.Text(text);
    writer.Unsigned(1);
    writer.Signed(kLater);
  };
  return {
      {"lock", RdbType::kModule, ModuleOf(kRdbLock, lock)},
      {"limiter", RdbType::kModule, ModuleOf(kRdbLimiter, limiter)},
      {"limiter_log", RdbType::kModule, ModuleOf(kRdbLimiter, log)},
      {"large_lock", RdbType::kModule, ModuleOf(kRdbLargeLock, large_lock)},
      {"untimed_lock", RdbType::kModule, ModuleOf(kRdbUntimedLock, untimed_lock)},
      {"large_untimed_lock", RdbType::kModule, ModuleOf(kRdbLargeUntimedLock, large_untimed_lock)},
      {"leaky_bucket", RdbType::kModule, ModuleOf(kRdbLeakyBucket, bucket)},
      {"large_bucket", RdbType::kModule, ModuleOf(kRdbLargeBucket, large_bucket)},
      {"timed_hash", RdbType::kModule, ModuleOf(kRdbTimedHash, hash)}};
}

}  // namespace rdb_samples

inline std::vector<RdbSample> RdbSamples() {
  using namespace rdb_samples;
  constexpr auto kEarliest = "\xbb\x02\x5c\x2e\xbb\x03\0\0"sv;  // 4'102'444'800'123
  std::vector<RdbSample> samples = {
      {"string", RdbType::kString, Texts({"text"})},
      {"string_integer", RdbType::kString, Texts({"-70000"})},
      {"string_compressed", RdbType::kString, Texts({std::string(300, 'x')})},
      {"list", RdbType::kList, Texts({"a", "b", "12"}, "\3"), "REDIS0001"},
      {"set", RdbType::kSet, Texts({"a", "b", "12"}, "\3"), "REDIS0001"},
      {"zset_scores_as_text", RdbType::kSortedSetText,
       "\3\1a\3"
       "1.5\1b\xfe\1c\xff",
       "REDIS0003"},
      {"hash", RdbType::kHash, Texts({"a", "1", "b", "2"}, "\2"), "REDIS0001"},
      {"zset", RdbType::kSortedSet, std::string("\1\1a\0\0\0\0\0\0\xf8\x3f", 11), "REDIS0008"},
      {"hash_zipmap", RdbType::kHashZipmap, Texts({kZipmap}), "REDIS0002"},
      {"list_ziplist", RdbType::kListZiplist, Texts({kZiplist}), "REDIS0006"},
      {"set_intset", RdbType::kSetIntset, Texts({kIntset}), "REDIS0006"},
      {"zset_ziplist", RdbType::kSortedSetZiplist, Texts({kScores}), "REDIS0006"},
      {"hash_ziplist", RdbType::kHashZiplist, Texts({kZiplist}), "REDIS0006"},
      {"list_of_ziplists", RdbType::kQuicklistZiplists, Texts({kZiplist, kZiplist}, "\2"),
       "REDIS0009"},
      {"stream_1", RdbType::kStream1, StreamOf(RdbType::kStream1), "REDIS0009"},
      {"hash_listpack", RdbType::kHashListpack, Texts({Listpack({"a", "17", "b", "text"})})},
      {"zset_listpack", RdbType::kSortedSetListpack, Texts({Listpack({"a", "1.5", "b", "17"})})},
      {"quicklist", RdbType::kQuicklist,
       "\2\2" + Texts({Listpack({"a", "17"})}) + "\1" + Texts({"plain"})},
      {"stream_2", RdbType::kStream2, StreamOf(RdbType::kStream2)},
      {"set_listpack", RdbType::kSetListpack, Texts({Listpack({"a", "17"})}), "REDIS0011"},
      {"stream_3", RdbType::kStream3, StreamOf(RdbType::kStream3), "REDIS0011"},
      {"stream_4", RdbType::kStream4, StreamOf(RdbType::kStream4), "REDIS0013"},
      {"stream_5", RdbType::kStream5, StreamOf(RdbType::kStream5), "REDIS0014"},
      {"hash_valkey", RdbType::kValkeyHash,
       "\2\1a\1v" + std::string(8, '\xff') + "\1b\1w" + std::string(kEarliest), "VALKEY080"},
      {"hash_timed_rc", RdbType::kHashFieldTtlRc,
       "\2" + std::string("\0\1a\1v", 5) + std::string("\x81\0\0\3\xbb\x2e\x5c\2\xbb\1b\1w", 13),
       "REDIS0012"},
      {"hash_listpack_timed_rc", RdbType::kHashListpackFieldTtlRc,
       Texts({Listpack({"a", "v", "4102444800123", "b", "w", "0"})}), "REDIS0012"},
      {"hash_timed", RdbType::kHashFieldTtl,
       std::string(kEarliest) + "\2" + std::string("\0\1a\1v\1\1b\1w", 10), "REDIS0012"},
      {"hash_listpack_timed", RdbType::kHashListpackFieldTtl,
       std::string(kEarliest) + Texts({Listpack({"a", "v", "4102444800123", "b", "w", "0"})}),
       "REDIS0012"},
  };
  for (RdbSample& sample : Modules()) samples.push_back(sample);
  return samples;
}

}  // namespace sluice
