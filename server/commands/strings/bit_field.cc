// BITFIELD: integers of any width inside a string (storage/types/bit_field.h), several operations
// in one request, answered in order. All are read before the first one runs.
//
// Reading everything first means that one bad operation refuses the whole request, with nothing
// changed and nothing answered but the error. That is Redis's rule as well. OVERFLOW is no
// operation: it is a setting that holds for the SET and INCRBY behind it, and WRAP before any.
//
//   > BITFIELD k OVERFLOW SAT INCRBY u8 0 200 INCRBY u8 0 100 GET u4 0
//   < 1) (integer) 200
//     2) (integer) 255       saturated
//     3) (integer) 15        the upper half of that byte

#include "storage/types/bit_field.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/strings/bit_offset.h"
#include "server/commands/strings/text_edit.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

// One operation as it was read. Offsets count bits from the first bit of the string; `#n` has been
// multiplied by the width already.
struct FieldOp {
  enum class Kind : uint8_t { kGet, kSet, kIncrBy };
  Kind kind = Kind::kGet;
  FieldType type;
  uint64_t offset = 0;
  int64_t operand = 0;
  FieldOverflow overflow = FieldOverflow::kWrap;

  // How many bytes a string has that holds the whole field.
  size_t bytes() const { return (offset + static_cast<uint64_t>(type.bits) - 1) / 8 + 1; }
};

// The whole request. A list that only reads leaves `write_bytes` at 0, which is how BITFIELD_RO
// knows that it may run.
struct FieldOps {
  const CommandCall* call = nullptr;
  FieldOverflow overflow = FieldOverflow::kWrap;  // of the operations that follow
  std::vector<FieldOp> list;
  size_t write_bytes = 0;  // the string must have at least so many; 0: nothing is written
};

// --- reading the request

// WRAP counts modulo the width, SAT stops at the ends, FAIL writes nothing and answers null.
constexpr OptionRow<FieldOps> kOverflows[] = {
    {"WRAP", kAssign<&FieldOps::overflow, FieldOverflow::kWrap>},
    {"SAT", kAssign<&FieldOps::overflow, FieldOverflow::kSaturate>},
    {"FAIL", kAssign<&FieldOps::overflow, FieldOverflow::kFail>},
};

// Redis looks at the word only when it comes, so a wrong one behind a GET is refused as well.
void ReadOverflow(ArgReader& args, FieldOps& ops) {
  if (!TakeOption(args, kOverflows, ops)) args.Fail("ERR Invalid OVERFLOW type specified");
}

// The three checks stand in Redis's order: type, offset, operand. The string has to hold the widest
// field that is written, so that memory grows once, before the first operation.
template <FieldOp::Kind kind>
void ReadOp(ArgReader& args, FieldOps& ops) {
  FieldOp op{.kind = kind, .overflow = ops.overflow};
  const std::optional<FieldType> type = ParseFieldType(args.Bytes());
  if (!type) {
    return args.Fail(
        "ERR Invalid bitfield type. Use something like i16 u8. "
        "Note that u64 is not supported but i64 is.");
  }
  op.type = *type;
  const std::optional<uint64_t> offset = ReadBitOffset(*ops.call, args.Bytes(), type->bits);
  if (!offset) return args.Fail(ErrorCode::kBitOffset);
  op.offset = *offset;
  if (kind != FieldOp::Kind::kGet) {
    op.operand = args.Int();
    ops.write_bytes = std::max(ops.write_bytes, op.bytes());
  }
  ops.list.push_back(op);
}

constexpr size_t kReadValues = 2;   // a type and an offset
constexpr size_t kWriteValues = 3;  // and an operand

// BITFIELD key [OVERFLOW how] [GET type offset | SET type offset value | INCRBY type offset
// increment] ...
constexpr OptionRow<FieldOps> kOperations[] = {
    {"OVERFLOW", ReadOverflow, 1},
    {"GET", ReadOp<FieldOp::Kind::kGet>, kReadValues},
    {"SET", ReadOp<FieldOp::Kind::kSet>, kWriteValues},
    {"INCRBY", ReadOp<FieldOp::Kind::kIncrBy>, kWriteValues},
};

// False when an error has been answered.
bool ReadOps(CommandCall& call, FieldOps& ops) {
  ArgReader args(call.args, 2);
  ops.call = &call;
  ReadOptions(args, kOperations, ops);
  if (!args.failed()) return true;
  call.reply.Error(args.error());
  return false;
}

// A request that makes no sense is taken for a write, to be on the safe side.
uint16_t FieldKeyFlags(const Request& request) {
  ArgReader args(request.args, 2);
  while (args.more()) {
    const OptionRow<FieldOps>* const row = FindOption(args, kOperations, {});
    if (!row || row->values == kWriteValues) return kKeyRw | kKeyAccess | kKeyUpdate;
    args.Skip(1 + row->values);
  }
  return kKeyRo | kKeyAccess;
}

// --- running it

// The string that the operations work on. It is opened for writing by the first one that changes
// something: what leaves all bits as they were is no change of the key.
class FieldText {
 public:
  // `entry` is what the key holds: a string, or null.
  FieldText(CommandCall& call, HashedKey key, const Entry* entry) : call_(call), key_(key) {
    if (entry) bytes_ = entry->Text(scratch_);
  }

  std::string_view bytes() const ABSL_ATTRIBUTE_LIFETIME_BOUND { return bytes_; }
  bool changed() const { return edit_.has_value(); }
  bool told() const { return told_; }
  // Before any operation: Redis too makes the string long enough for every write, even for one that
  // OVERFLOW FAIL refuses later.
  void GrowTo(size_t bytes) {
    if (bytes_.size() >= bytes) return;
    Open().GrowTo(bytes);
    bytes_ = edit_->text().view();
  }
  // Nothing is told of operations that all failed, though the text may have grown for them.
  void Put(const FieldOp& op, int64_t old, int64_t value) {
    told_ = told_ || changed() || value != old;
    if (value == old) return;
    WriteField(Open().text().bytes(), op.offset, op.type, value);
    bytes_ = edit_->text().view();
  }

 private:
  // Opening is the moment from which WATCH sees a change, hence as late as possible.
  TextEdit& Open() {
    if (!edit_) edit_.emplace(call_, key_);
    return *edit_;
  }

  CommandCall& call_;
  HashedKey key_;
  char scratch_[Entry::kTextScratch];
  std::string_view bytes_;
  std::optional<TextEdit> edit_;
  bool told_ = false;
};

// SET answers with the value before it, INCRBY with the value after it, GET with what is there, and
// null stands for a write that OVERFLOW FAIL refused: this operation changed nothing, the next one
// runs.
void RunOp(CommandCall& call, FieldText& text, const FieldOp& op) {
  const int64_t old = ReadField(text.bytes(), op.offset, op.type);
  if (op.kind == FieldOp::Kind::kGet) return call.reply.Integer(old);
  const bool adds = op.kind == FieldOp::Kind::kIncrBy;
  const std::optional<int64_t> value = adds ? FitField(op.type, old, op.operand, op.overflow)
                                            : FitField(op.type, op.operand, op.overflow);
  if (!value) return call.reply.Null();
  text.Put(op, old, *value);
  call.reply.Integer(adds ? *value : old);
}

// Two ways to change the key: by an operation, which is the event `setbit`, or only by growing, for
// which Redis has no event. Cost: O(operations), plus the zeros behind the old end.
void Run(CommandCall& call, const FieldOps& ops) {
  const HashedKey key = call.Key(1);
  const bool writes = ops.write_bytes > 0;
  const Entry* const entry = writes ? LookUp(call, key) : LookUpToRead(call, key);
  if (!IsTextOrMissing(call, entry)) return;
  FieldText text(call, key, entry);
  if (writes) text.GrowTo(ops.write_bytes);
  call.reply.Array(ops.list.size());
  for (const FieldOp& op : ops.list) RunOp(call, text, op);
  if (text.told()) {
    call.Changed(kNotifyString, "setbit", key.bytes);
  } else if (text.changed()) {
    call.ChangedUnannounced(key.bytes);
  }
  if (writes && !text.changed()) call.db.MakeRaw(*entry, call.now);  // as Redis shows it
}

// The key is looked at after the arguments: a syntax error wins over WRONGTYPE.
//   BITFIELD k SET u8 0 200 GET i8 0         → [0, -56]  the same bits, with a sign
//   BITFIELD k INCRBY u8 0 100               → [44]      wraps by itself
//   BITFIELD k OVERFLOW SAT INCRBY u8 0 255  → [255]
//   BITFIELD k OVERFLOW FAIL INCRBY u8 0 1   → [nil]
//   BITFIELD k GET u8 #1                     → [0]       field 1 of 8 bits: bit 8
//   BITFIELD k GET u64 0                     → -ERR Invalid bitfield type. Use something like ...
void BitField(CommandCall& call) {
  FieldOps ops;
  if (ReadOps(call, ops)) Run(call, ops);
}

// The same parser, so that its errors are the same; a write is refused after all was read.
//   BITFIELD_RO k SET u8 0 1  → -ERR BITFIELD_RO only supports the GET subcommand
void BitFieldRo(CommandCall& call) {
  FieldOps ops;
  if (!ReadOps(call, ops)) return;
  if (ops.write_bytes > 0) {
    return call.reply.Error("ERR BITFIELD_RO only supports the GET subcommand");
  }
  Run(call, ops);
}

// --- the table

// BITFIELD's key flags depend on the request: a list of GETs only reads.
constexpr CommandRow kBitFieldRows[] = {
    {.name = "BITFIELD",
     .arity = -2,
     .flags = kWrite | kDenyOom,
     .categories = kCatBitmap,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate | kKeyVariableFlags,
                   "reads or writes, as its operations say"),
     .run = BitField,
     .group = "bitmap",
     .since = "3.2.0",
     .complexity = "O(1) for each subcommand specified",
     .usage = "key operation=[GET encoding offset | write=<[OVERFLOW <WRAP | SAT | FAIL>] "
              "write_operation=<SET encoding offset value:integer | INCRBY encoding offset "
              "increment>> ...]",
     .summary = "Read, write and add to integers of any width inside a string.",
     .key_flags = FieldKeyFlags},
    {.name = "BITFIELD_RO",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .categories = kCatBitmap,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = BitFieldRo,
     .group = "bitmap",
     .since = "6.0.0",
     .complexity = "O(1) for each subcommand specified",
     .usage = "key [GET encoding offset [GET encoding offset ...]]",
     .summary = "Read integers of any width inside a string."},
};

}  // namespace

CommandFamily BitFieldFamily() { return {"bit_field", kSpecsOf<kBitFieldRows>}; }

}  // namespace sluice
