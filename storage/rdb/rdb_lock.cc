// See rdb_lock.h.
#include "storage/rdb/rdb_lock.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "storage/locks/locks.h"
#include "storage/rdb/rdb_moment.h"

namespace sluice {
namespace {

// --- writing

// The holder once leases that are over have ended; null when nothing is left of it. The order of
// ends is that of Lock::Expire: the lease, then the sessions, then MINHOLD.
std::optional<LockHolder> Settled(const LockHolder& holder, const Now& now) {
  if (holder.EndsAtMs() > now.ms()) return holder;
  LockHolder settled = holder;
  settled.lease_until_ms = kNoDeadline;
  settled.lease_ms = 0;
  if (!holder.sessions().empty()) return settled;
  if (holder.minhold_until_ms() <= now.ms()) return std::nullopt;
  settled.holds = 0;
  return settled;
}

void WriteEnd(bool there, int64_t engine_ms, const Now& now, ModuleWriter& writer) {
  writer.Unsigned(there);
  if (there) WriteMoment(engine_ms, now, writer);
}

void WriteHolder(const LockHolder& holder, const Now& now, ModuleWriter& writer) {
  writer.Unsigned(static_cast<uint64_t>(holder.token));
  writer.Text(holder.owner);
  writer.Text(holder.label());
  writer.Unsigned(static_cast<uint64_t>(holder.permits()));
  writer.Unsigned(static_cast<uint64_t>(holder.holds));
  writer.Unsigned(!holder.sessions().empty());
  const bool leased = !holder.is_minimum_hold() && holder.has_lease();
  WriteEnd(leased, holder.lease_until_ms, now, writer);
  WriteEnd(holder.minhold_until_ms() > now.ms(), holder.minhold_until_ms(), now, writer);
  WriteMoment(holder.since_ms, now, writer);
  writer.Unsigned(static_cast<uint64_t>(leased ? int64_t{holder.lease_ms} : 0));
}

// --- reading

enum class HolderForm : bool { kUntimed, kTimed };

// Bounds first, then sense: a holder is bound by something, or lingers and is kept.
LockHolder ReadHolder(ModuleReader& reader, HolderForm form, int64_t token_least,
                      const LockShape& shape, const Now& now) {
  const auto number = [&reader](int64_t least, int64_t most) {
    return static_cast<int64_t>(
        reader.Unsigned(static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
  };
  LockHolder holder;
  holder.token = number(token_least, kTokenMax);
  holder.owner = reader.Text(kOwnerBytesMax);
  holder.set_label(reader.Text(kLabelBytesMax));
  holder.set_permits(number(1, shape.of));
  holder.holds = number(0, kHoldsMax);
  holder.since_ms = holder.token - now.unix_offset_ms;
  if (reader.Flag()) holder.extra.Make().sessions = {kSessionElsewhere};
  if (reader.Flag()) holder.lease_until_ms = ReadMoment(reader, now);
  const bool kept = reader.Flag();
  if (kept) holder.set_minhold_until_ms(ReadMoment(reader, now));
  if (form == HolderForm::kTimed) {
    holder.since_ms = ReadMoment(reader, now);
    holder.lease_ms = number(0, kLeaseMsMax);
  }
  const bool leased = holder.has_lease();
  const bool bound = leased || !holder.sessions().empty();
  if (holder.is_minimum_hold() ? bound || !kept : !bound) reader.Fail();
  return holder;
}

LockShape ReadShape(ModuleReader& reader) {
  LockShape shape;
  shape.mode = static_cast<LockMode>(reader.Unsigned(0, static_cast<uint64_t>(LockMode::kPermits)));
  const int64_t of_most = shape.mode == LockMode::kPermits ? kPermitsMax : 1;
  shape.of = static_cast<int64_t>(reader.Unsigned(1, static_cast<uint64_t>(of_most)));
  return shape;
}

// All of them, and the end. A lock of its own tries each: Lock::Restore knows which go together.
void ReadHolders(ModuleReader& reader, HolderForm form, const Now& now, LockImage& image,
                 absl::FunctionRef<bool()> has_next) {
  Lock lock;
  while (reader.ok() && has_next()) {
    const LockHolder holder = ReadHolder(reader, form, lock.newest_token() + 1, image.shape, now);
    if (!reader.ok()) break;
    if (!lock.Restore(holder, image.shape)) reader.Fail();
    image.holders.push_back(holder);
  }
  if (lock.newest_token() > image.newest_token) reader.Fail();
  reader.End();
}

std::optional<LockImage> ReadCounted(ModuleReader& reader, HolderForm form, const Now& now) {
  LockImage image;
  image.newest_token = static_cast<int64_t>(reader.Unsigned(0, kTokenMax));
  image.shape = ReadShape(reader);
  uint64_t left = reader.Unsigned(0, UINT64_MAX);
  if ((left == 0) != (image.newest_token == 0)) reader.Fail();
  ReadHolders(reader, form, now, image, [&left] { return left-- > 0; });
  return reader.ok() ? std::optional(std::move(image)) : std::nullopt;
}

std::optional<LockImage> ReadLarge(ModuleReader& reader, HolderForm form, const Now& now) {
  LockImage image;
  image.newest_token = static_cast<int64_t>(reader.Unsigned(1, kTokenMax));
  image.shape = ReadShape(reader);
  ReadHolders(reader, form, now, image, [&reader] { return reader.Flag(); });
  if (image.holders.empty()) image.newest_token = 0;
  return reader.ok() ? std::optional(std::move(image)) : std::nullopt;
}

}  // namespace

// A lock whose crowd has ended has no holder any more, though they are still to be freed.
void WriteLock(const Lock& lock, const Now& now, RdbWriter& out) {
  std::vector<LockHolder> holders;
  for (const LockHolder& holder : lock.holders()) {
    if (lock.Ended()) break;
    if (auto settled = Settled(holder, now)) holders.push_back(*std::move(settled));
  }
  const bool held = !holders.empty();
  ModuleWriter writer(kRdbLock, out);
  writer.Unsigned(held ? static_cast<uint64_t>(lock.newest_token()) : 0);
  writer.Unsigned(held ? static_cast<uint64_t>(lock.mode()) : 0);
  writer.Unsigned(held ? static_cast<uint64_t>(lock.permits_of()) : 1);
  writer.Unsigned(holders.size());
  for (const LockHolder& holder : holders) WriteHolder(holder, now, writer);
  writer.End();
}

LargeLockParts::LargeLockParts(const Lock& lock, const Now& now, RdbWriter& out)
    : now_(now), writer_(kRdbLargeLock, out), holders_(lock.holders()), next_(holders_.begin()) {
  if (lock.Ended()) next_ = holders_.end();
  writer_.Unsigned(static_cast<uint64_t>(lock.newest_token()));
  writer_.Unsigned(static_cast<uint64_t>(lock.mode()));
  writer_.Unsigned(static_cast<uint64_t>(lock.permits_of()));
}

bool LargeLockParts::WriteNext(size_t count) {
  for (; count > 0 && next_ != holders_.end(); --count, ++next_) {
    const auto settled = Settled(*next_, now_);
    if (!settled) continue;
    writer_.Unsigned(1);
    WriteHolder(*settled, now_, writer_);
  }
  if (next_ != holders_.end()) return true;
  writer_.Unsigned(0);
  writer_.End();
  return false;
}

std::optional<LockImage> ReadLock(ModuleReader& reader, const Now& now) {
  return ReadCounted(reader, HolderForm::kTimed, now);
}
std::optional<LockImage> ReadLargeLock(ModuleReader& reader, const Now& now) {
  return ReadLarge(reader, HolderForm::kTimed, now);
}
std::optional<LockImage> ReadUntimedLock(ModuleReader& reader, const Now& now) {
  return ReadCounted(reader, HolderForm::kUntimed, now);
}
std::optional<LockImage> ReadLargeUntimedLock(ModuleReader& reader, const Now& now) {
  return ReadLarge(reader, HolderForm::kUntimed, now);
}

std::unique_ptr<Value> MakePlainLock(const LockImage& image) {
  auto lock = std::make_unique<Lock>();
  for (const LockHolder& holder : image.holders) lock->Restore(holder, image.shape);
  return lock;
}

}  // namespace sluice
