// RdbFileReader: an RDB file, part by part, from a ByteSource. At no time is more of the file in
// memory than a piece and the value that is being read. The frame, of which redis/src/rdb.h says
// more:
//
//   "REDIS" + 4 digits of version, or "VALKEY" + 3 | part ... | 255 | CRC-64 8 (from version 5 on)
//
//   part: 250 name value          what the file says of itself (AUX)
//         245 code                a library of functions
//         254 number              the database of the keys that follow
//         251 keys volatile       how many there are: a hint, which is never believed
//         244 slot keys volatile  the same of a cluster's slot
//         247 module ...          what a module keeps beside keys
//         [253 seconds 4] [252 ms 8] [248 idle seconds] [249 frequency 1] type key value
//
// Deadlines are Unix times. That a key's deadline is relative (it feels no step of the clock) is
// told in a way that Redis reads past: 253 with 0 seconds before its 252. A file that says
// kRdbRelativeField of itself means it the other way round: 253 0 marks the absolute ones.
//
//   RdbFileReader reader(file, context, {.databases = 16}, loader);
//   if (!reader.ReadAll()) return Concat(path, ": ", reader.error());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/keyspace/entry.h"
#include "storage/rdb/byte_source.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_input.h"
#include "storage/rdb/rdb_reader.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {

// A key as it stands in a file. It may have ended by now, and its value too (RdbValue::Ended). Keys
// are read into the same one again and again, as the room of its texts is made once.
struct RdbFileKey {
  uint64_t offset = 0;  // in the file
  uint64_t db = 0;
  std::string name;
  RdbType type = RdbType::kString;  // the form that its value has in the file
  RdbValue value;
  Deadline deadline;                 // kUnix; kSteady when the file says that it is relative
  std::optional<uint64_t> idle_s;    // unused for so long
  std::optional<uint8_t> frequency;  // of use, as Redis's LFU counts it

  // Forgets what is its own in the file; texts keep their room, unless it is large.
  void Clear();
};

// Says in a sentence, without its offset, what is wrong with a key; of a long name the beginning.
std::string RdbKeyFault(const RdbFileKey& key, std::string_view what);

// A part that was left out: with RdbFileOptions::skip_unknown one that only a module can read; and
// always a key whose value is empty, which bugs of Redis have written, or a hash whose fields have
// all ended.
struct RdbLeftOut {
  std::string_view module;              // its type's name; empty: the value is
  std::optional<std::string_view> key;  // null: it is the module's own, beside keys
  uint64_t db = 0;
};

// Hears of each part in the file's order. A method that answers a string refuses the file with a
// sentence, or goes on with an empty one. Views live during the call.
class RdbFileVisitor {
 public:
  virtual ~RdbFileVisitor() = default;
  virtual std::string Aux(std::string_view name, std::string_view value) = 0;
  virtual std::string Function(std::string_view code) = 0;
  // Where the next key is read: a cleared one, which the visitor has until Key. Not all that begin
  // come to it.
  virtual RdbFileKey& Place() {
    own_place_.Clear();
    return own_place_;
  }
  // `key` is what Place has answered; the value may be moved out of it. The reader knows no other
  // keys: whether this one was there already is for the visitor to see.
  virtual std::string Key(RdbFileKey& key) = 0;
  virtual void LeftOut(const RdbLeftOut& what) = 0;
  // Before Key: its value was not as it should be in `what` ("length, last id"), and was mended.
  virtual void Mended(const RdbFileKey& /*key*/, std::string_view /*what*/) {}
  // A hint, on which nothing may depend: any program may have written it.
  virtual void SizeHint(uint64_t /*db*/, uint64_t /*keys*/, uint64_t /*with_deadline*/) {}

 private:
  RdbFileKey own_place_;
};

struct RdbFileOptions {
  uint64_t databases = 16;    // one beyond them refuses the file
  bool skip_unknown = false;  // leave out values of modules that are unknown, instead of refusing
  uint64_t string_bytes_max = kRdbStringBytesMax;
};

class RdbFileReader {
 public:
  enum class State : uint8_t { kMore, kEnd, kFault };

  // All but options are used as long as the reader lives. Moments in the file become those of
  // `context.now`, and what has ended by it (fields of hashes, units of buckets) is left out: with
  // steady time long ago and the same offset nothing has ended.
  RdbFileReader(ByteSource& source, const RdbContext& context, const RdbFileOptions& options,
                RdbFileVisitor& visitor);

  State Step();    // reads one part; kMore: there is another
  bool ReadAll();  // up to the end; false: error() says what is wrong

  // A sentence that begins with the offset, and the key where there is one. It names no file.
  const std::string& error() const { return error_; }
  uint64_t fault_offset() const { return fault_offset_; }
  // How many bytes have been taken; at the end, where the bytes behind the file begin (as an old
  // log behind its preamble).
  uint64_t offset() const { return reader_.offset(); }
  int version() const { return version_; }             // 0 before the first Step
  bool has_checksum() const { return has_checksum_; }  // known at the end

 private:
  struct Attributes {
    std::optional<int64_t> deadline_s, deadline_ms;
    std::optional<uint64_t> idle_s;
    std::optional<uint8_t> frequency;
  };

  State Refuse(uint64_t offset, std::string_view what);
  State RefuseAt(std::string_view part);
  State RefuseModule(uint64_t id, std::string_view what);
  State Answer(std::string_view part, const std::string& refusal = {});

  State ReadHeader();
  State ReadPart();
  State ReadAux(const std::string& name, const std::string& value);
  State ReadModuleAux();
  State ReadEnd();

  State ReadAttributes(RdbOpcode first);
  bool DeadlineOf(const Attributes& attributes, Deadline& deadline) const;
  State ReadKey(uint8_t code, const Attributes& attributes);
  State ReadValue(RdbFileKey& key);
  State ReadModuleValue(RdbFileKey& key);
  State TakeValue(RdbFileKey& key, std::optional<RdbValue> value);
  State Hand(RdbFileKey& key);
  std::string Described(const RdbFileKey& key) const;

  RdbInput input_;
  RdbReader reader_;
  const RdbContext& context_;
  const RdbFileOptions options_;
  RdbFileVisitor& visitor_;
  State state_ = State::kMore;
  int version_ = 0;
  bool is_valkey_ = false;
  bool has_checksum_ = false;
  bool relative_unmarked_ = false;  // deadlines that are not marked are relative
  uint64_t db_ = 0;
  uint64_t part_offset_ = 0;  // of the part that is being read
  uint64_t fault_offset_ = 0;
  std::string error_;
};

}  // namespace sluice
