// See snapshot_writer.h. The hard part is the order. A value that comes in pieces keeps all others
// waiting behind it; and what is remembered of a lock stands before a key of the lock's name.
//
// A slice ends after 64 KiB of the file, or with its budget of keys.
#include "server/snapshots/snapshot_writer.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <vector>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/config/version.h"
#include "server/core/log_clock.h"
#include "server/limits/request_ids.h"
#include "storage/limits/calendar.h"
#include "storage/locks/lock.h"
#include "storage/log/held_clock.h"
#include "storage/log/turn_writer.h"
#include "storage/rdb/rdb_format.h"
#include "storage/types/hash.h"

namespace sluice {
namespace {

// Bytes of one AUX field with commands. redis-check-rdb prints them all.
constexpr size_t kCommandsMax = 64 * 1024;

// Bytes of keys in a step, after which the clock is looked at: compressing is what takes long.
constexpr size_t kSliceBytes = 16 * 1024;

RdbContext::Use UseOf(const Keyspace& keyspace, bool writes_idle_times) {
  if (keyspace.access_count()) return RdbContext::Use::kFrequency;
  return writes_idle_times ? RdbContext::Use::kIdle : RdbContext::Use::kNotWritten;
}

// Where a stream is followed: the moment at which its next command runs (StreamPlayer).
std::optional<int64_t> ValuesUs(const SnapshotWriter::Style& style, const Now& now) {
  if (style.for_redis || !style.stream || !style.stream->reading) return std::nullopt;
  const StreamReading& reading = *style.stream->reading;
  if (reading.kind == StreamKind::kOfSluice && reading.told_ms > 0) return reading.told_ms * 1000;
  return now.steady_us - kHeldBackSeconds * 1'000'000;
}

// Nothing is left of such a lock.
bool IsEndedLock(const Entry& entry) {
  return entry.type() == ValueType::kLock && static_cast<const Lock&>(entry.value()).Ended();
}

}  // namespace

SnapshotWriter::SnapshotWriter(const Source& source, const TurnClock& clock, const Style& style,
                               ByteSink& sink)
    : source_(source),
      clock_(clock),
      style_(style),
      context_{.now = clock.now(),
               .compress = style.compress,
               .for_redis = style.for_redis,
               .values_us = ValuesUs(style, clock.now()),
               .use = UseOf(source.keyspace, style.writes_idle_times),
               .access_clock = source.keyspace.AccessSeconds(clock.now()),
               .access_count = source.keyspace.access_count()},
      writer_(sink, context_, style.checksum) {
  for (int db = 0; db < source_.keyspace.databases(); ++db) {
    if (source_.keyspace.made(db)) keys_at_first_ += source_.keyspace.db(db).size();
  }
}

void SnapshotWriter::WriteHead() {
  writer_.Aux("redis-ver", kRedisVersion);
  writer_.Aux("redis-bits", "64");
  writer_.Aux("ctime", Int64Text(context_.now.unix_s()));
  writer_.Aux("used-mem", Int64Text(static_cast<int64_t>(style_.used_memory)));
  if (style_.stream) WriteStream(*style_.stream);
  writer_.Aux("aof-base", style_.is_base ? "1" : "0");
  if (!style_.for_redis) WriteClock();
  if (style_.parts.functions) {
    for (const auto& [name, library] : source_.functions.all()) writer_.Function(library->code);
  }
  style_.for_redis ? LeaveOutBeside() : WritePolicies();
}

void SnapshotWriter::WriteClock() {
  const LogClock clock = LogClockOf(clock_);
  if (clock.skew_ms != 0) writer_.Aux(kRdbSkewField, Int64Text(clock.skew_ms));
  writer_.Aux(kRdbClockField, Concat(clock.unix_offset_ms, ' ', clock.shift_ms, ' ',
                                     context_.now.unix_ms(), ' ', style_.boot));
}

// Redis always writes a database.
void SnapshotWriter::WriteStream(const StreamPosition& stream) {
  writer_.Aux(kRdbStreamDbField, Int64Text(std::max(stream.db, 0)));
  writer_.Aux(kRdbStreamIdField, stream.id.text());
  writer_.Aux(kRdbStreamOffsetField, Int64Text(stream.offset));
  if (stream.reading && !style_.for_redis)
    writer_.Aux(kRdbStreamReadingField, ReadingText(*stream.reading));
}

void SnapshotWriter::WriteAll() {
  WriteHead();
  if (!fences_are_given_) WriteFences();
  if (!style_.for_redis && source_.requests) {
    source_.requests->BeginImage();
    WriteRequests(SIZE_MAX);
  }
  Keyspace& keyspace = source_.keyspace;
  for (int db = 0; db < keyspace.databases(); ++db) {
    if (keyspace.made(db)) keyspace.db(db).ForEach([&](const Entry& entry) { Save(db, entry); });
  }
  End();
}

void SnapshotWriter::BeginImage() {
  WriteHead();
  if (!fences_are_given_) source_.fences.BeginImage(*this);
  if (!style_.for_redis && source_.requests) source_.requests->BeginImage();
  source_.keyspace.BeginImage(*this);
}

// False: the entry does not belong into the file. It is asked once an entry.
bool SnapshotWriter::Holds(const Entry& entry) {
  if (!style_.parts.keys || IsEndedLock(entry)) return false;
  if (!style_.for_redis) return true;
  switch (entry.type()) {
    case ValueType::kLock:
      return ++left_out_.locks, false;
    case ValueType::kLimiter:
      return ++left_out_.limiters, false;
    case ValueType::kLeakyBucket:
      return ++left_out_.buckets, false;
    case ValueType::kHash:
      return HoldsHash(static_cast<const Hash&>(entry.value()));
    default:
      return true;
  }
}

// Of fields that are over nothing is written, and Redis refuses a hash of none.
bool SnapshotWriter::HoldsHash(const Hash& hash) {
  if (!hash.has_deadlines()) return true;
  if (hash.CountLive(context_.now) == 0) return ++left_out_.ended_keys, false;
  ++left_out_.timed_hashes;
  return true;
}

void SnapshotWriter::Save(int db, const Entry& entry) {
  if (&entry == large_entry_ || !writer_.is_key_open()) {
    while (!SavePiece(db, entry)) continue;
  } else if (Holds(entry)) {
    WriteBefore(db, entry);
    writer_.Key(entry);
    ++keys_;
  }
}

bool SnapshotWriter::SavePiece(int db, const Entry& entry) {
  if (large_) return !WritePiece(entry);
  if (!Holds(entry)) return true;
  large_ = LargeValueWriter::Of(entry, context_, style_.large_bytes);
  WriteBefore(db, entry);
  ++keys_;
  if (!large_ || writer_.waiting_bytes() > 0) {
    large_.reset();
    writer_.Key(entry);
    return true;
  }
  large_entry_ = &entry;
  return !WritePiece(entry);
}

bool SnapshotWriter::WritePiece(const Entry& entry) {
  assert(large_entry_ == &entry);
  ++pieces_;
  const std::string_view piece = large_->Next(style_.piece_bytes);
  if (writer_.is_key_open()) {
    writer_.Piece(piece);
  } else {
    writer_.BeginKey(entry, piece);
  }
  if (large_->has_more()) return true;
  writer_.EndKey();
  large_.reset();
  large_entry_ = nullptr;
  return false;
}

void SnapshotWriter::WriteBefore(int db, const Entry& entry) {
  if (db != db_) {
    // How many keys are left out is not known yet, and Redis makes room for all it is told of.
    if (!style_.for_redis && databases_.insert(db).second) {
      const Database& database = source_.keyspace.db(db);
      writer_.BeginDatabase(static_cast<uint64_t>(db), database.size(), database.volatile_size());
    } else {
      writer_.ContinueDatabase(static_cast<uint64_t>(db));
    }
    db_ = db;
  }
  if (!fences_are_given_) GiveFenceFirst({db, entry.key()});
}

bool SnapshotWriter::Slice(size_t budget) {
  slice_end_ = writer_.bytes() + kSliceBytes;
  if (writer_.HandWaiting()) return true;
  if (!fences_are_given_) {
    if (source_.fences.ImageSlice(budget, clock_.now())) return true;
    EndCommands();
    fences_are_given_ = true;
  }
  if (!style_.for_redis && source_.requests && WriteRequests(budget)) return true;
  return source_.keyspace.ImageSlice(clock_.now(), budget);
}

void SnapshotWriter::Abandon() {
  source_.fences.EndImage();
  if (source_.requests) source_.requests->EndImage();
  source_.keyspace.AbandonImage();
  large_.reset();
  large_entry_ = nullptr;
}

// --- what is beside the keys

void SnapshotWriter::Play(Args command) {
  AppendRequest(commands_, command);
  if (commands_.size() >= kCommandsMax) EndCommands();
}

void SnapshotWriter::EndCommands() {
  if (commands_.empty()) return;
  writer_.Aux(kRdbCommandsField, commands_);
  commands_.clear();
}

void SnapshotWriter::WritePolicies() {
  for (const std::string_view name : source_.policies.Names()) {
    const LimitConfig& config = *source_.policies.Find(name);
    const std::string max = Int64Text(config.max);
    const std::string period = Int64Text(config.period_ms);
    const std::string burst = Int64Text(config.burst);
    std::vector<std::string_view> words = {
        "LIMIT.POLICY", "SET", name, LimitAlgorithmName(config.algorithm), max, period};
    if (config.burst > 0) words.insert(words.end(), {"BURST", burst});
    const std::string starts = config.calendar ? Int64Text(config.calendar->terms().starts) : "";
    if (config.calendar) {
      words[5] = CalendarUnitName(config.calendar->terms().unit);
      words.insert(words.end(), {"ZONE", config.calendar->zone()});
      if (config.calendar->terms().starts > 0) words.insert(words.end(), {"STARTS", starts});
    }
    Play(words);
  }
}

// Moments are Unix times by the clock that the file names. True: there are more.
bool SnapshotWriter::WriteRequests(size_t budget) {
  const Now& now = clock_.now();
  const bool has_more = source_.requests->ImageSlice(
      budget, now, [&](std::string_view id, const RequestMemory::Answer& answer) {
        const std::vector<std::string> words = RememberWords(id, answer, context_.now);
        const std::vector<std::string_view> views(words.begin(), words.end());
        Play(views);
      });
  EndCommands();
  return has_more;
}

// A key that is about to change comes ahead of its turn: then so does what is remembered of a lock
// of its name. A loader would find something else in the lock's place.
void SnapshotWriter::GiveFenceFirst(LockNameView name) {
  const int64_t token = source_.fences.Newest(name, clock_.now());
  if (token == 0) return;
  SaveFence(LockName(name), token);
  fences_given_first_.emplace(name.db, name.key);
  EndCommands();
}

void SnapshotWriter::WriteFences() {
  source_.fences.ForEach([this](const LockName& name, int64_t token) {
    if (source_.fences.Newest(name, context_.now) == token) SaveFence(name, token);
  });
  EndCommands();
  fences_are_given_ = true;
}

void SnapshotWriter::LeaveOutBeside() {
  left_out_.policies = source_.policies.size();
  left_out_.tokens = source_.fences.size();
  fences_are_given_ = true;
}

// A token is remembered of a lock that was given back: so it is said.
void SnapshotWriter::SaveFence(const LockName& name, int64_t token) {
  if (fences_given_first_.contains({name.db, name.key})) return;
  const std::string db = Int64Text(name.db);
  const std::string number = Int64Text(token);
  const std::string soon = Int64Text(context_.now.unix_ms() + 1);
  const std::string_view select[] = {"SELECT", db};
  const std::string_view held[] = {
      "LOCK.RESTORE", name.key, number, "log", "exclusive", "1", "1", "1", soon, "-1", "0", ""};
  const std::string_view gone[] = {"LOCK.RESTORE", name.key, number};
  Play(select);
  Play(held);
  Play(gone);
}

}  // namespace sluice
