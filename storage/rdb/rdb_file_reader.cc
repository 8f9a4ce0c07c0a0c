// See rdb_file_reader.h. A fault is told once, with the first offset at which it shows; what stood
// before it has been handed to the visitor by then.
#include "storage/rdb/rdb_file_reader.h"

#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"
#include "protocol/text/words.h"
#include "storage/rdb/rdb_module.h"
#include "storage/rdb/rdb_moment.h"
#include "storage/rdb/rdb_types.h"

namespace sluice {
namespace {

constexpr size_t kHeaderBytes = 9;
constexpr int kFirstVersionWithChecksum = 5;

// Names come from the file: sentences show the beginning of them.
std::string Shown(std::string_view name) {
  constexpr size_t kShownMax = 64;
  if (name.size() <= kShownMax) return QuotedWord(name);
  return Concat(QuotedWord(name.substr(0, kShownMax)), " and ", name.size() - kShownMax,
                " more bytes");
}

// The number that decimal digits stand for; -1 when there are others.
int Digits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

bool IsKeyAttribute(RdbOpcode code) {
  return code == RdbOpcode::kDeadlineSeconds || code == RdbOpcode::kDeadlineMs ||
         code == RdbOpcode::kIdle || code == RdbOpcode::kFrequency;
}

}  // namespace

RdbFileReader::RdbFileReader(ByteSource& source, const RdbContext& context,
                             const RdbFileOptions& options, RdbFileVisitor& visitor)
    : input_(source, options.string_bytes_max),
      reader_(input_),
      context_(context),
      options_(options),
      visitor_(visitor) {}

bool RdbFileReader::ReadAll() {
  while (Step() == State::kMore) {
  }
  return state_ == State::kEnd;
}

RdbFileReader::State RdbFileReader::Step() {
  if (state_ != State::kMore) return state_;
  part_offset_ = reader_.offset();
  state_ = version_ == 0 ? ReadHeader() : ReadPart();
  return state_;
}

void RdbFileKey::Clear() {
  constexpr size_t kKeptBytes = 1024;
  ClearKeeping(name, kKeptBytes);
  ClearKeeping(value.text, kKeptBytes);
  value.value.reset();
  deadline = {};
  idle_s.reset();
  frequency.reset();
}

// --- faults

std::string RdbKeyFault(const RdbFileKey& key, std::string_view what) {
  return Concat("key ", Shown(key.name), " in database ", key.db, ": ", what);
}

RdbFileReader::State RdbFileReader::Refuse(uint64_t offset, std::string_view what) {
  fault_offset_ = offset;
  error_ = Concat("offset ", offset, ": ", what);
  return State::kFault;
}

// Refuses the file for the fault that the RdbReader has found in `part`.
RdbFileReader::State RdbFileReader::RefuseAt(std::string_view part) {
  switch (reader_.fault()) {
    case RdbFault::kUnreadable:
      return Refuse(reader_.offset(), "the file cannot be read on");
    case RdbFault::kEnds:
      return Refuse(
          reader_.offset(),
          Concat(part, " claims more bytes than the file has left: it is cut off or damaged"));
    case RdbFault::kTooLong:
      return Refuse(reader_.offset(),
                    Concat(part, " has a text of more than ", options_.string_bytes_max, " bytes"));
    default:
      return Refuse(reader_.offset(), Concat(part, " is damaged"));
  }
}

RdbFileReader::State RdbFileReader::Answer(std::string_view part, const std::string& refusal) {
  if (reader_.failed()) return RefuseAt(part);
  return refusal.empty() ? State::kMore : Refuse(part_offset_, Concat(part, ": ", refusal));
}

// --- the frame

RdbFileReader::State RdbFileReader::ReadHeader() {
  const std::string_view header = reader_.Raw(kHeaderBytes);
  if (reader_.fault() == RdbFault::kUnreadable) return RefuseAt("the header");
  if (reader_.failed()) {
    return Refuse(0, reader_.offset() == 0 && input_.end_offset() == 0
                         ? "the file is empty"
                         : "this is no RDB file: it is too short to be one");
  }
  is_valkey_ = header.starts_with("VALKEY");
  if (!is_valkey_ && !header.starts_with("REDIS")) {
    return Refuse(0, Concat("this is no RDB file: it begins with ", QuotedWord(header),
                            ", not with REDIS or VALKEY"));
  }
  const int version = Digits(header.substr(is_valkey_ ? 6 : 5));
  const bool is_known =
      is_valkey_ ? version == kRdbVersionValkey : version >= 1 && version <= kRdbVersionMax;
  if (!is_known) {
    return Refuse(0,
                  Concat("RDB version ", QuotedWord(header), " is not known: REDIS0001 to REDIS00",
                         kRdbVersionMax, " and VALKEY0", kRdbVersionValkey, " are"));
  }
  version_ = version;
  return State::kMore;
}

RdbFileReader::State RdbFileReader::ReadPart() {
  const uint8_t first = reader_.Byte();
  if (reader_.failed()) return RefuseAt("the file, which has no end mark,");
  switch (const auto code = static_cast<RdbOpcode>(first)) {
    case RdbOpcode::kAux: {
      const std::string name = reader_.String();
      const std::string value = reader_.String();
      return ReadAux(name, value);
    }
    case RdbOpcode::kFunction: {
      const std::string library = reader_.String();
      const bool ok = reader_.ok();
      return Answer("a library of functions", ok ? visitor_.Function(library) : std::string());
    }
    case RdbOpcode::kOldFunction:
      return Refuse(part_offset_,
                    "functions in the form of Redis 7.0's release candidates (FUNCTION, 246): load "
                    "the file into Redis 7.0 rc and save them with FUNCTION DUMP");
    case RdbOpcode::kModuleAux:
      return ReadModuleAux();
    case RdbOpcode::kSlotSize:
      for (int i = 0; i < 3; ++i) reader_.Length();
      return Answer("a slot's size");
    case RdbOpcode::kSizes: {
      const uint64_t keys = reader_.Length();
      const uint64_t with_deadline = reader_.Length();
      if (reader_.ok()) visitor_.SizeHint(db_, keys, with_deadline);
      return Answer("a database's size");
    }
    case RdbOpcode::kDatabase:
      db_ = reader_.Length();
      if (reader_.failed() || db_ < options_.databases) return Answer("a database's number");
      return Refuse(part_offset_, Concat("database ", db_, " is beyond the ", options_.databases,
                                         " that there are (databases)"));
    case RdbOpcode::kEnd:
      return ReadEnd();
    default:
      return IsKeyAttribute(code) ? ReadAttributes(code) : ReadKey(first, {});
  }
}

RdbFileReader::State RdbFileReader::ReadAux(const std::string& name, const std::string& value) {
  if (reader_.failed()) return RefuseAt("an AUX field");
  if (name == kRdbRelativeField) relative_unmarked_ = value == "1";
  return Answer(Concat("AUX field ", Shown(name)), visitor_.Aux(name, value));
}

RdbFileReader::State RdbFileReader::ReadModuleAux() {
  const uint64_t id = reader_.Length();
  const uint64_t part = reader_.Length();
  reader_.Length();  // before or behind the keys
  if (reader_.ok() && part != static_cast<uint64_t>(RdbModulePart::kUnsigned)) reader_.Fail();
  if (reader_.failed()) return RefuseAt("data of a module");
  const std::string module = RdbModuleName(id);
  if (!options_.skip_unknown) return RefuseModule(id, "data of");
  if (!SkipModule(reader_)) return RefuseAt(Concat("data of module ", QuotedWord(module)));
  visitor_.LeftOut({.module = module, .db = db_});
  return State::kMore;
}

RdbFileReader::State RdbFileReader::RefuseModule(uint64_t id, std::string_view what) {
  return Refuse(part_offset_,
                Concat(what, " module type ", QuotedWord(RdbModuleName(id)), " in version ",
                       RdbModuleVersion(id),
                       ", which is not known here; rdb-skip-unknown yes leaves out what it has"));
}

RdbFileReader::State RdbFileReader::ReadEnd() {
  if (version_ < kFirstVersionWithChecksum) return State::kEnd;
  const uint64_t computed = reader_.Crc();
  const auto written = static_cast<uint64_t>(reader_.Int64());
  if (reader_.failed()) return RefuseAt("the checksum");
  has_checksum_ = written != 0;
  if (!has_checksum_ || written == computed) return State::kEnd;
  return Refuse(part_offset_, "the checksum is wrong: somewhere the file is damaged");
}

// --- keys

RdbFileReader::State RdbFileReader::ReadAttributes(RdbOpcode first) {
  Attributes attributes;
  auto code = static_cast<uint8_t>(first);
  while (IsKeyAttribute(static_cast<RdbOpcode>(code))) {
    switch (static_cast<RdbOpcode>(code)) {
      case RdbOpcode::kDeadlineSeconds:
        attributes.deadline_s = reader_.Int32();
        break;
      case RdbOpcode::kDeadlineMs:
        attributes.deadline_ms = reader_.Int64();
        break;
      case RdbOpcode::kIdle:
        attributes.idle_s = reader_.Length();
        break;
      default:
        attributes.frequency = reader_.Byte();
    }
    code = reader_.Byte();
    if (reader_.failed()) return RefuseAt("what stands before a key");
  }
  return ReadKey(code, attributes);
}

// False when it is beyond what a clock can show.
bool RdbFileReader::DeadlineOf(const Attributes& attributes, Deadline& deadline) const {
  const std::optional<int64_t>& seconds = attributes.deadline_s;
  const std::optional<int64_t>& ms = attributes.deadline_ms;
  if (!seconds && !ms) return true;
  const bool is_marked = seconds && ms;
  if (is_marked && *seconds != 0) return false;
  const int64_t unix_ms = ms ? *ms : *seconds * 1000;
  if (unix_ms < 0) return false;
  deadline = Deadline::Unix(unix_ms);
  if (is_marked == relative_unmarked_) return true;
  if (unix_ms > kRdbMomentMsMax) return false;
  deadline = Deadline::Steady(unix_ms - context_.now.unix_offset_ms);
  return true;
}

RdbFileReader::State RdbFileReader::ReadKey(uint8_t code, const Attributes& attributes) {
  const uint64_t type_offset = reader_.offset() - 1;
  const RdbType type = RdbTypeOf(code, is_valkey_);
  if (!IsRdbType(type)) {
    return Refuse(type_offset,
                  Concat(code,
                         " is neither a type nor an opcode that is known, so what "
                         "follows cannot be read: a newer server may have written it"));
  }
  RdbFileKey& key = visitor_.Place();
  key.offset = part_offset_;
  key.db = db_;
  key.type = type;
  key.idle_s = attributes.idle_s;
  key.frequency = attributes.frequency;
  reader_.StringInto(key.name);
  if (reader_.failed()) return RefuseAt("a key's name");
  if (!DeadlineOf(attributes, key.deadline)) {
    return Refuse(part_offset_, Concat("key ", Shown(key.name), " in database ", db_,
                                       " has a deadline that is beyond all time"));
  }
  return type == RdbType::kModule ? ReadModuleValue(key) : ReadValue(key);
}

std::string RdbFileReader::Described(const RdbFileKey& key) const {
  return Concat("key ", Shown(key.name), " in database ", db_, " (", RdbTypeNameOf(key.type).name,
                ", ", RdbTypeNameOf(key.type).form, ')');
}

RdbFileReader::State RdbFileReader::ReadValue(RdbFileKey& key) {
  if (key.type != RdbType::kString)
    return TakeValue(key, ReadRdbValue(key.type, reader_, context_));
  reader_.StringInto(key.value.text);
  return reader_.failed() ? RefuseAt(Described(key)) : Hand(key);
}

RdbFileReader::State RdbFileReader::ReadModuleValue(RdbFileKey& key) {
  const uint64_t id = reader_.Length();
  if (reader_.ok() && IsRdbModule(id)) {
    return TakeValue(key, ReadRdbModule(id, reader_, context_));
  }
  if (reader_.ok() && !options_.skip_unknown) {
    return RefuseModule(id, Concat("key ", Shown(key.name), " in database ", db_, " is of"));
  }
  if (!SkipModule(reader_)) return RefuseAt(Described(key));
  const std::string module = RdbModuleName(id);
  visitor_.LeftOut({.module = module, .key = key.name, .db = db_});
  return State::kMore;
}

RdbFileReader::State RdbFileReader::TakeValue(RdbFileKey& key, std::optional<RdbValue> value) {
  if (reader_.failed()) return RefuseAt(Described(key));
  if (!value) {  // Redis writes no such value, but bugs of it have
    visitor_.LeftOut({.key = key.name, .db = db_});
    return State::kMore;
  }
  key.value = *std::move(value);
  return Hand(key);
}

RdbFileReader::State RdbFileReader::Hand(RdbFileKey& key) {
  if (const std::string mended = reader_.TakeMended(); !mended.empty()) {
    visitor_.Mended(key, mended);
  }
  const std::string refusal = visitor_.Key(key);
  if (refusal.empty()) return State::kMore;
  return Refuse(part_offset_, RdbKeyFault(key, refusal));
}

}  // namespace sluice
