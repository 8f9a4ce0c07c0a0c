// Module values: the form in which RDB holds types that Redis does not have. Each part says what it
// is, so that a reader that has never heard of the type can go past it; redis-check-rdb does.
//
//   type 7 | id | (part, value) ... | 0
//
//   id: a length of 64 bits: nine characters of 6 bits each, and the version of the form in 10
//   part: one of RdbModulePart as a length; numbers are lengths too (signed ones by their bits)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/rdb/rdb_reader.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {

// The name of a type of ours: nine letters, digits, '-' or '_'; and the newest version of its form,
// 0 .. 1023.
struct RdbModuleType {
  std::string_view name;
  uint64_t version = 1;

  uint64_t id() const;
};

// The name in an id, which may come from anywhere.
std::string RdbModuleName(uint64_t id);
inline uint64_t RdbModuleVersion(uint64_t id) { return id & 1023; }

// Goes past a module's value, behind its id. False at a fault, and then the reader has failed.
bool SkipModule(RdbReader& reader);

// Writes type and id when it is made; the caller ends it.
class ModuleWriter {
 public:
  ModuleWriter(const RdbModuleType& type, RdbWriter& writer);

  void Unsigned(uint64_t value);
  void Signed(int64_t value);
  void Text(std::string_view text);
  void End();  // once, behind the last part

 private:
  void Part(RdbModulePart part) { writer_.Length(static_cast<uint64_t>(part)); }
  RdbWriter& writer_;
};

// Takes the parts of a value from bytes that any client may have made, each within the bounds that
// its caller names. After the first fault ok() is false, every part is the least that was allowed,
// and the RdbReader has failed too.
class ModuleReader {
 public:
  // The id has been taken. `reader` outlives this.
  explicit ModuleReader(RdbReader& reader) : reader_(reader) {}

  bool ok() const { return reader_.ok(); }
  void Fail() { reader_.Fail(); }

  uint64_t Unsigned(uint64_t least, uint64_t most);
  int64_t Signed(int64_t least, int64_t most);
  bool Flag() { return Unsigned(0, 1) == 1; }
  std::string Text(size_t bytes_max);
  // Takes the end: ok() tells whether it was there.
  void End();

 private:
  bool Take(RdbModulePart part);
  RdbReader& reader_;
};

}  // namespace sluice
