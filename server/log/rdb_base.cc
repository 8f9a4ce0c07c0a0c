// See rdb_base.h.
#include "server/log/rdb_base.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

RdbContext ContextOf(const Settings& settings, Keyspace& keyspace, const Now& now) {
  const auto size = [](int64_t option) { return static_cast<size_t>(option); };
  HashKeys* const keys = &keyspace.hash_keys();
  return {.now = now,
          .hash = {size(settings.hash_max_listpack_entries), size(settings.hash_max_listpack_value),
                   keys},
          .set = {size(settings.set_max_intset_entries), keys},
          .sorted_set = {size(settings.zset_max_listpack_entries),
                         size(settings.zset_max_listpack_value), keys},
          .list = ListLimits::Of(settings.list_max_listpack_size)};
}

}  // namespace

std::optional<size_t> RdbBase::Source::Read(char* into, size_t bytes) {
  size_t got = 0;
  if (file_.ReadAt(at_, {into, std::min<uint64_t>(bytes, left())}, got) != 0) return std::nullopt;
  at_ += got;
  return got;
}

RdbBase::RdbBase(DiskFile& file, uint64_t bytes, const Settings& settings, Keyspace& keyspace,
                 const Now& now, LoadFunction load_function)
    : keyspace_(keyspace),
      load_function_(std::move(load_function)),
      bytes_(bytes),
      context_(ContextOf(settings, keyspace, now)),
      source_(file, bytes),
      reader_(source_, context_, {.databases = static_cast<uint64_t>(settings.databases)}, *this) {}

RdbFileReader::State RdbBase::Step() {
  const RdbFileReader::State state = reader_.Step();
  if (state == RdbFileReader::State::kFault) error_ = reader_.error();
  if (state == RdbFileReader::State::kEnd && reader_.offset() < bytes_) {
    error_ = "bytes follow the end of the RDB file";
    return RdbFileReader::State::kFault;
  }
  return state;
}

std::string RdbBase::Key(RdbFileKey& key) {
  Database& db = keyspace_.db(static_cast<int>(key.db));
  const HashedKey name = keyspace_.Hash(key.name);
  if (db.Find(name, context_.now)) return "the key is there twice";
  if (key.value.Ended(context_.now)) return {};
  Entry& entry = PutRdbValue(db, name, std::move(key.value), key.deadline, context_.now);
  if (key.idle_s) {
    const int64_t used_s = context_.now.ms() / 1000 - static_cast<int64_t>(*key.idle_s);
    db.SetAccessClock(entry, static_cast<uint32_t>(used_s));
  }
  ++keys_;
  return {};
}

}  // namespace sluice
