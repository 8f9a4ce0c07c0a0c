// See full_sync_check.h.
#include "server/following/full_sync_check.h"

#include <utility>

#include "protocol/text/concat.h"
#include "storage/locks/fence.h"
#include "storage/locks/lock.h"
#include "storage/rdb/rdb_lock.h"

namespace sluice {
namespace {

constexpr size_t kVersionBytesMax = 64;  // of what is kept

// Nothing ends while it is read: engine time stands long before every moment in a file.
RdbContext CheckingContext(HashKeys& hash_keys) {
  RdbContext context;
  context.hash.hash_keys = context.set.hash_keys = context.sorted_set.hash_keys = &hash_keys;
  context.make_lock = MakePlainLock;
  return context;
}

// As LOCK.RESTORE takes it. Moments are Unix times here.
bool MayBeRestored(const LockHolder& holder) {
  constexpr int64_t kMost = 2 * kLeaseMsMax;
  const auto is_moment = [](int64_t ms) { return ms >= 0 && ms <= kMost; };
  return holder.token >= 0 && holder.token <= kTokenRestoredMax &&
         (!holder.has_lease() || is_moment(holder.lease_until_ms)) &&
         is_moment(holder.minhold_until_ms()) && holder.since_ms >= -kMost &&
         holder.since_ms <= kMost && holder.lease_ms >= 0 && holder.lease_ms <= kLeaseMsMax;
}

}  // namespace

FullSyncCheck::FullSyncCheck(std::unique_ptr<DiskFile> file, uint64_t bytes, const Options& options,
                             const TableKey& hash_key)
    : file_(std::move(file)),
      bytes_(bytes),
      hash_keys_(hash_key),
      context_(CheckingContext(hash_keys_)),
      source_(*file_, bytes),
      reader_(source_, context_,
              {.databases = options.databases, .skip_unknown = options.skips_unknown}, *this) {}

bool FullSyncCheck::Piece() {
  const uint64_t until = reader_.offset() + kPieceBytes;
  while (true) {
    switch (reader_.Step()) {
      case RdbFileReader::State::kFault:
        fault_ = reader_.error();
        return false;
      case RdbFileReader::State::kEnd:
        return End();
      case RdbFileReader::State::kMore:
        if (reader_.offset() >= until) return true;
    }
  }
}

bool FullSyncCheck::End() {
  if (reader_.offset() != bytes_) {
    fault_ = Concat("offset ", reader_.offset(), ": ", bytes_ - reader_.offset(),
                    " bytes stand behind the end");
  }
  facts_.stream = stream_.position();
  return false;
}

std::string FullSyncCheck::Aux(std::string_view name, std::string_view value) {
  stream_.Take(name, value);
  if (name == kRdbClockField) facts_.is_of_sluice = true;
  if (name == "redis-ver") facts_.version = value.substr(0, kVersionBytesMax);
  return name == "lua" ? TakeScript(value) : std::string();
}

std::string FullSyncCheck::TakeScript(std::string_view script) {
  script_bytes_ += script.size();
  if (script_bytes_ > kScriptBytesMax)
    return Concat("scripts of more than ", kScriptBytesMax, " bytes");
  facts_.scripts.emplace_back(script);
  return {};
}

std::string FullSyncCheck::Key(RdbFileKey& key) {
  ++facts_.keys;
  if (!key.value.is_lock()) return {};
  for (const LockHolder& holder : static_cast<const Lock&>(*key.value.value).holders()) {
    if (!MayBeRestored(holder)) return "a holder's token, or its time, is beyond all bounds";
  }
  return {};
}

}  // namespace sluice
