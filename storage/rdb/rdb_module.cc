// See rdb_module.h.
#include "storage/rdb/rdb_module.h"

#include <cassert>

namespace sluice {
namespace {

constexpr std::string_view kCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kNameBytes = 9;
constexpr int kVersionBits = 10;

}  // namespace

// 54 bits of name and 10 of version, as RedisModule_CreateDataType computes it.
uint64_t RdbModuleType::id() const {
  assert(name.size() == kNameBytes && version >> kVersionBits == 0);
  uint64_t id = 0;
  for (const char c : name) id = id << 6 | kCharacters.find(c);
  return id << kVersionBits | version;
}

// Any 54 bits are nine characters: for messages about types that are not ours.
std::string RdbModuleName(uint64_t id) {
  std::string name(kNameBytes, '\0');
  id >>= kVersionBits;
  for (size_t i = kNameBytes; i-- > 0; id >>= 6) name[i] = kCharacters[id & 63];
  return name;
}

// Parts until the end marker; nothing of them is kept.
bool SkipModule(RdbReader& reader) {
  while (reader.ok()) {
    const uint64_t part = reader.Length();
    if (reader.failed()) break;
    switch (static_cast<RdbModulePart>(part < UINT8_MAX ? part : UINT8_MAX)) {
      case RdbModulePart::kEnd:
        return true;
      case RdbModulePart::kSigned:
      case RdbModulePart::kUnsigned:
        reader.Length();
        break;
      case RdbModulePart::kFloat:
        reader.Float();
        break;
      case RdbModulePart::kDouble:
        reader.Double();
        break;
      case RdbModulePart::kString:
        reader.SkipString();
        break;
      default:
        reader.Fail();
    }
  }
  return false;
}

// --- writing

ModuleWriter::ModuleWriter(const RdbModuleType& type, RdbWriter& writer) : writer_(writer) {
  writer_.Type(RdbType::kModule);
  writer_.Length(type.id());
}

void ModuleWriter::Unsigned(uint64_t value) {
  Part(RdbModulePart::kUnsigned);
  writer_.Length(value);
}

void ModuleWriter::Signed(int64_t value) {
  Part(RdbModulePart::kSigned);
  writer_.Length(static_cast<uint64_t>(value));
}

void ModuleWriter::Text(std::string_view text) {
  Part(RdbModulePart::kString);
  writer_.String(text);
}

void ModuleWriter::End() { Part(RdbModulePart::kEnd); }

// --- reading

bool ModuleReader::Take(RdbModulePart part) {
  if (reader_.Length() != static_cast<uint64_t>(part)) reader_.Fail();
  return reader_.ok();
}

// Out of bounds is a fault, so callers use what they get without a look.
uint64_t ModuleReader::Unsigned(uint64_t least, uint64_t most) {
  const uint64_t value = Take(RdbModulePart::kUnsigned) ? reader_.Length() : 0;
  if (value < least || value > most) reader_.Fail();
  return reader_.ok() ? value : least;
}

int64_t ModuleReader::Signed(int64_t least, int64_t most) {
  const auto value =
      static_cast<int64_t>(Take(RdbModulePart::kSigned) ? reader_.Length() : uint64_t{0});
  if (value < least || value > most) reader_.Fail();
  return reader_.ok() ? value : least;
}

std::string ModuleReader::Text(size_t bytes_max) {
  std::string text = Take(RdbModulePart::kString) ? reader_.String() : std::string();
  if (text.size() > bytes_max) reader_.Fail();
  return reader_.ok() ? text : std::string();
}

void ModuleReader::End() { Take(RdbModulePart::kEnd); }

}  // namespace sluice
