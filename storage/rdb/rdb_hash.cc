// Hashes in RDB form: see rdb_collections.h. Ends of fields are written relative to the earliest
// one, plus 1, because 0 means "none"; fields that are over are neither written nor read.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "protocol/text/number_text.h"
#include "storage/listpack/listpack.h"
#include "storage/rdb/rdb_collections.h"
#include "storage/rdb/rdb_moment.h"
#include "storage/rdb/rdb_sequence.h"
#include "storage/time/timer_wheel.h"

namespace sluice {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The Unix time of a field's end; kNever.
int64_t EndOf(const Hash& hash, std::string_view name, const Now& now) {
  FieldValue value;
  if (!hash.Get(name, now, value) || value.deadline.none()) return kNever;
  return value.deadline.UnixMs(now);
}

// Two walks: the earliest end stands before the fields.
void WriteTimedHash(const Hash& hash, const Now& now, RdbWriter& writer) {
  int64_t earliest = kNever;
  hash.ForEach(now, [&](std::string_view name, std::string_view) {
    earliest = std::min(earliest, EndOf(hash, name, now));
  });
  writer.Type(RdbType::kHashFieldTtl);
  writer.Int64(earliest);
  writer.Length(hash.CountLive(now));
  hash.ForEach(now, [&](std::string_view name, std::string_view value) {
    const int64_t end = EndOf(hash, name, now);
    writer.Length(end == kNever ? 0 : static_cast<uint64_t>(end - earliest) + 1);
    writer.String(name);
    writer.String(value);
  });
}

// Takes fields one after the other; one whose time has passed is left out.
class HashMaker {
 public:
  explicit HashMaker(const RdbContext& context)
      : context_(context), hash_(std::make_unique<Hash>()) {}

  // False when the field is there already, as far as that shows.
  bool Add(std::string_view name, std::string_view value, int64_t end_ms,
           Deadline::Kind kind = Deadline::Kind::kUnix) {
    const Now& now = context_.now;
    // Over already: left out, as if it had ended just after the load.
    if (end_ms <= now.unix_ms()) return true;
    if (!hash_->Load(name, value, context_.hash, now)) return false;
    if (end_ms == kNever) return true;
    if (!hash_->AllDiffer()) return false;
    // No timer goes further, and no step of the clock is felt so far away.
    const bool is_relative = kind == Deadline::Kind::kSteady && end_ms <= kRdbMomentMsMax &&
                             end_ms - now.unix_offset_ms <= TimerWheel::kDeadlineMsMax;
    hash_->SetDeadline(
        name, is_relative ? Deadline::Steady(end_ms - now.unix_offset_ms) : Deadline::Unix(end_ms),
        context_.hash);
    return true;
  }
  // The same of names and values in turn, kTextsTogether at most, none of which ends.
  bool AddSome(std::span<const std::string> texts) {
    std::array<SplitMap::Named, kTextsTogether / 2> fields;
    const size_t count = texts.size() / 2;
    for (size_t i = 0; i < count; ++i)
      fields[i] = {texts[2 * i], {.value = texts[2 * i + 1], .deadline = {}}};
    return hash_->LoadSome(std::span(fields).first(count), context_.hash, context_.now);
  }
  // Whether no field came twice. Add may have missed it.
  bool AllDiffer() const { return hash_->AllDiffer(); }
  std::unique_ptr<Value> Take() {
    if (hash_->empty()) return nullptr;
    return std::move(hash_);
  }

 private:
  const RdbContext& context_;
  std::unique_ptr<Hash> hash_;
};

// A count, and so many fields with how long after `earliest`, plus 1, each ends. Hostile sums do
// not wrap: an end beyond int64 is a fault.
bool ReadTimedFields(RdbReader& reader, int64_t earliest, HashMaker& maker) {
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const uint64_t after = reader.Length();
    const std::string name = reader.String();
    const std::string value = reader.String();
    int64_t end = kNever;
    if (after > static_cast<uint64_t>(kNever) ||
        (after > 0 && __builtin_add_overflow(earliest, static_cast<int64_t>(after - 1), &end))) {
      return false;
    }
    if (reader.failed() || !maker.Add(name, value, end)) return false;
  }
  return reader.ok();
}

// A count, and so many fields with the Unix time at which each ends.
bool ReadValkeyFields(RdbReader& reader, HashMaker& maker) {
  constexpr int64_t kNone = -1;
  for (uint64_t left = reader.Length(); left > 0 && reader.ok(); --left) {
    const std::string name = reader.String();
    const std::string value = reader.String();
    const int64_t end = reader.Int64();
    if (reader.failed() || end < kNone) return false;
    if (!maker.Add(name, value, end == kNone ? kNever : end)) return false;
  }
  return reader.ok();
}

// A listpack of name, value and Unix time of the end (0: none) in turn.
bool ReadTimedListpack(RdbReader& reader, HashMaker& maker) {
  std::string parts[3];
  size_t count = 0;
  const bool whole = ReadSequence(reader, RdbSequence::kListpack, [&](std::string_view text) {
    parts[count++ % 3] = text;
    if (count % 3 != 0) return true;
    const std::optional<int64_t> end = ParseInt64(parts[2]);
    return end && *end >= 0 && maker.Add(parts[0], parts[1], *end == 0 ? kNever : *end);
  });
  return whole && count % 3 == 0;
}

// Elements of a pack come one by one: a name waits for its value, and one that is left over is a
// fault.
bool ReadFields(RdbReader& reader, RdbSequence form, HashMaker& maker) {
  std::optional<std::string> name;
  const bool whole = ReadSequence(reader, form, [&](std::string_view text) {
    if (!name) {
      name = text;
      return true;
    }
    const bool is_new = maker.Add(*name, text, kNever);
    name.reset();
    return is_new;
  });
  return whole && !name;
}

}  // namespace

void WriteHashModule(const Hash& hash, const Now& now, RdbWriter& out) {
  ModuleWriter writer(kRdbTimedHash, out);
  writer.Unsigned(hash.CountLive(now));
  hash.ForEach(now, [&](std::string_view name, std::string_view text) {
    WriteModuleField(hash, name, text, now, writer);
  });
  writer.End();
}

// The kind of a deadline is written, too: 0 none, 1 relative, 2 absolute.
void WriteModuleField(const Hash& hash, std::string_view name, std::string_view text,
                      const Now& now, ModuleWriter& writer) {
  FieldValue value;
  hash.Get(name, now, value);
  writer.Text(name);
  writer.Text(text);
  writer.Unsigned(static_cast<uint64_t>(value.deadline.kind));
  if (!value.deadline.none()) writer.Signed(value.deadline.UnixMs(now));
}

Now BeforeAllDeadlines(Now now) {
  now.steady_us -= int64_t{1} << 52;  // 142 years
  return now;
}

// The form of our own files: each field says the kind of its deadline.
std::unique_ptr<Value> ReadHashModule(ModuleReader& reader, const RdbContext& context) {
  HashMaker maker(context);
  for (uint64_t left = reader.Unsigned(0, UINT64_MAX); left > 0 && reader.ok(); --left) {
    const std::string name = reader.Text(SIZE_MAX);
    const std::string value = reader.Text(SIZE_MAX);
    const auto kind = static_cast<Deadline::Kind>(
        reader.Unsigned(0, static_cast<uint64_t>(Deadline::Kind::kUnix)));
    int64_t end_ms = kNever;
    if (kind != Deadline::Kind::kNone) end_ms = reader.Signed(0, kNever - 1);
    if (!maker.Add(name, value, end_ms, kind)) reader.Fail();
  }
  reader.End();
  if (!maker.AllDiffer()) reader.Fail();
  return reader.ok() ? maker.Take() : nullptr;
}

void WriteHash(const Hash& hash, const Now& now, RdbWriter& writer) {
  return hash.has_deadlines() ? WriteTimedHash(hash, now, writer)
                              : WritePlainHash(hash, now, writer);
}

// As Redis 7.0 does: small ones as one listpack, others as strings.
void WritePlainHash(const Hash& hash, const Now& now, RdbWriter& writer) {
  if (hash.Encoding() != "listpack") {
    writer.Type(RdbType::kHash);
    writer.Length(hash.CountLive(now));
    return hash.ForEach(now, [&](std::string_view name, std::string_view value) {
      writer.String(name);
      writer.String(value);
    });
  }
  ListpackWriter listpack;
  hash.ForEach(now, [&](std::string_view name, std::string_view value) {
    listpack.Text(name);
    listpack.Text(value);
  });
  writer.Type(RdbType::kHashListpack);
  writer.String(listpack.Finish());
}

// Eight forms of Redis's and one of Valkey's; all end in HashMaker.
std::unique_ptr<Value> ReadHash(RdbType type, RdbReader& reader, const RdbContext& context) {
  HashMaker maker(context);
  bool whole = false;
  switch (type) {
    case RdbType::kHashFieldTtl: {
      const int64_t earliest = reader.Int64();
      whole = ReadTimedFields(reader, earliest, maker);
      break;
    }
    case RdbType::kHashFieldTtlRc:
      whole = ReadTimedFields(reader, 1, maker);  // Unix times as they are
      break;
    case RdbType::kHashListpackFieldTtl:
      reader.Int64();  // the earliest end, which the fields tell
      [[fallthrough]];
    case RdbType::kHashListpackFieldTtlRc:
      whole = ReadTimedListpack(reader, maker);
      break;
    case RdbType::kValkeyHash:
      whole = ReadValkeyFields(reader, maker);
      break;
    case RdbType::kHashListpack:
      whole = ReadFields(reader, RdbSequence::kListpack, maker);
      break;
    case RdbType::kHashZiplist:
      whole = ReadFields(reader, RdbSequence::kZiplist, maker);
      break;
    case RdbType::kHashZipmap:
      whole = ReadFields(reader, RdbSequence::kZipmap, maker);
      break;
    default:
      whole = ReadTogether(
          reader, RdbSequence::kPairs,
          [&maker](std::span<const std::string> texts) { return maker.AddSome(texts); });
  }
  whole = whole && maker.AllDiffer();
  if (!whole) reader.Fail();
  return whole ? maker.Take() : nullptr;
}

}  // namespace sluice
