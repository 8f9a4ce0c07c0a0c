// The HyperLogLog family: about how many different elements there were. The values are strings,
// byte for byte as Redis has them (storage/types/hyperloglog.h).
//
// Algorithm: HyperLogLog with Redis's 2^14 registers of 6 bits, standard error 0.81 %. The sparse
// form is a list of runs; it becomes dense, 12 kB, for good once it passes hll-sparse-max-bytes.
// The bytes come from clients too (SET, RESTORE), so each command may find them corrupt.
//
//   command      missing key    event     effect
//   PFADD        made           pfadd     itself
//   PFCOUNT      0              none      itself, if it has kept a new estimate
//   PFMERGE      made           pfadd     itself
//   PFDEBUG      an error       none      itself, if it has made the value dense

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/rows.h"
#include "server/commands/strings/text_edit.h"
#include "server/dispatch/arg_reader.h"
#include "storage/types/hyperloglog.h"

namespace sluice {
namespace {

constexpr std::string_view kNotOne = "WRONGTYPE Key is not a valid HyperLogLog string value.";
constexpr std::string_view kCorrupt = "INVALIDOBJ Corrupted HLL object detected";

// A live option: each request asks anew.
size_t SparseBytesMax(const CommandCall& call) {
  return static_cast<size_t>(call.settings.hll_sparse_max_bytes);
}

// The text of a HyperLogLog; null for a missing key. False: the error has been answered.
bool TextOf(CommandCall& call, const Entry* entry, std::optional<std::string_view>& text) {
  text.reset();
  if (!entry) return true;
  if (!IsTextOrMissing(call, entry)) return false;
  char scratch[Entry::kTextScratch];
  const std::string_view bytes = entry->Text(scratch);
  if (entry->is_integer() || !hll::IsOne(bytes)) {
    call.reply.Error(kNotOne);
    return false;
  }
  text = bytes;
  return true;
}

// Adds to a copy, so that a corrupt one is found before anything is changed.
struct Edited {
  std::string text;
  bool changed = false;
  bool corrupt = false;

  // Both marks stay once they are set.
  void Raise(const hll::Place& place, size_t sparse_bytes_max) {
    const hll::Change change = hll::Raise(text, place, sparse_bytes_max);
    changed |= change == hll::Change::kDone;
    corrupt |= change == hll::Change::kCorrupt;
  }
};

// By an edit in place: the key keeps its time to live, as with every PF command of Redis.
void Store(CommandCall& call, HashedKey key, std::string_view text) {
  TextEdit edit(call, key);
  edit.text().Assign(text);
}

// 1 when the estimate may have changed, or when the key was made: PFADD k without elements makes an
// empty one. A missing key and a changed register are the only causes of a change; the usual
// answer, 0, touches nothing. Cost: O(elements), plus a copy of at most 12 kB.
//   PFADD h a b  → 1  some register changed
//   PFADD h a    → 0
//   PFADD g      → 1  makes an empty one
// After `SET k abc`:
//   PFADD k a    → -WRONGTYPE Key is not a valid HyperLogLog string value.
void PfAdd(CommandCall& call) {
  const HashedKey key = call.Key(1);
  std::optional<std::string_view> old;
  if (!TextOf(call, LookUp(call, key), old)) return;
  // Longer than any sound one: corrupt, without a look at its runs.
  if (old && hll::IsOverlong(*old)) return call.reply.Error(kCorrupt);
  Edited edited{.text = old ? std::string(*old) : hll::Empty(), .changed = !old};
  for (const std::string_view element : call.args.subspan(2)) {
    edited.Raise(hll::PlaceOf(element), SparseBytesMax(call));
    if (edited.corrupt) return call.reply.Error(kCorrupt);
  }
  if (edited.changed) {
    hll::ForgetCachedCount(edited.text);
    Store(call, key, edited.text);
    call.Changed(kNotifyString, "pfadd", key.bytes);
  }
  call.reply.Integer(edited.changed ? 1 : 0);
}

// --- PFCOUNT

// Merges the keys from `first` on; false: the error has been answered. `dense`: one of them is.
bool MergeKeys(CommandCall& call, size_t first, hll::Registers& registers, bool& dense) {
  for (size_t i = first; i < call.args.size(); ++i) {
    std::optional<std::string_view> text;
    if (!TextOf(call, LookUpToRead(call, call.Key(i)), text)) return false;
    if (!text) continue;
    dense |= !hll::IsSparse(*text);
    if (!hll::MergeInto(registers, *text)) {
      call.reply.Error(kCorrupt);
      return false;
    }
  }
  return true;
}

// PFCOUNT of one key keeps its estimate in the value's header, so that later calls answer in O(1).
// This is why a reading command is logged: its first call changes the bytes, though no client is
// told of an event.
void CountOne(CommandCall& call) {
  const HashedKey key = call.Key(1);
  std::optional<std::string_view> text;
  if (!TextOf(call, LookUpToRead(call, key), text)) return;
  if (!text) return call.reply.Integer(0);
  if (const auto cached = hll::CachedCount(*text)) {
    return call.reply.Integer(static_cast<int64_t>(*cached));
  }
  const std::optional<uint64_t> count = hll::Count(*text);
  if (!count) return call.reply.Error(kCorrupt);
  TextEdit edit(call, key);
  hll::SetCachedCount(edit.text().bytes(), *count);
  call.ChangedUnannounced(key.bytes);
  call.reply.Integer(static_cast<int64_t>(*count));
}

// Several keys count as their union, which no header holds: O(keys * 2^14). After `PFADD a 1 2 3`,
// `PFADD b 3 4`:
//   PFCOUNT a        → 3
//   PFCOUNT a b      → 4  of the union, which is not kept
//   PFCOUNT nothing  → 0
void PfCount(CommandCall& call) {
  if (call.args.size() == 2) return CountOne(call);
  const auto registers = std::make_unique<hll::Registers>();
  bool dense = false;
  if (!MergeKeys(call, 1, *registers, dense)) return;
  call.reply.Integer(static_cast<int64_t>(hll::Estimate(*registers)));
}

// --- PFMERGE

// The target is one of the sources when it exists: PFMERGE d a adds a to d. It becomes dense if any
// source is. The event is `pfadd`, as in Redis, even when nothing was new. After `PFADD a 1 2`,
// `PFADD b 2 3`:
//   PFMERGE t a b  → OK
//   PFCOUNT t      → 3
//   PFMERGE u      → OK  the target alone: makes it
//   EXISTS u       → 1
void PfMerge(CommandCall& call) {
  const auto registers = std::make_unique<hll::Registers>();
  bool dense = false;
  if (!MergeKeys(call, 1, *registers, dense)) return;
  const HashedKey key = call.Key(1);
  std::optional<std::string_view> old;
  if (!TextOf(call, LookUp(call, key), old)) return;
  Edited edited{.text = old ? std::string(*old) : hll::Empty()};
  if (dense && !hll::MakeDense(edited.text)) return call.reply.Error(kCorrupt);
  // Only registers that are raised; the target's own are among them already.
  for (size_t i = 0; i < hll::kRegisters; ++i) {
    if ((*registers)[i] > 0) edited.Raise({i, (*registers)[i]}, SparseBytesMax(call));
  }
  hll::ForgetCachedCount(edited.text);
  Store(call, key, edited.text);
  call.Changed(kNotifyString, "pfadd", key.bytes);
  call.reply.Ok();
}

// --- PFDEBUG

// Makes it dense; false: it is corrupt, and that has been answered.
bool Densify(CommandCall& call, HashedKey key, std::string_view text) {
  if (!hll::IsSparse(text)) return true;
  std::string dense(text);
  if (!hll::MakeDense(dense)) {
    call.reply.Error(kCorrupt);
    return false;
  }
  Store(call, key, dense);
  call.ChangedUnannounced(key.bytes);
  return true;
}

// As in Redis this look makes a sparse value dense for good.
void GetRegisters(CommandCall& call, HashedKey key, std::string_view text) {
  const auto registers = std::make_unique<hll::Registers>();
  const bool whole = hll::MergeInto(*registers, text);
  if (!Densify(call, key, text)) return;
  if (!whole) return call.reply.Error(kCorrupt);
  call.reply.Array(hll::kRegisters);
  for (const uint8_t value : *registers) call.reply.Integer(value);
}

// The runs of a sparse value as text; a dense one has none, which is an error.
void Decode(CommandCall& call, HashedKey, std::string_view text) {
  if (!hll::IsSparse(text)) return call.reply.Error("ERR HLL encoding is not sparse");
  call.reply.Bulk(hll::DescribeRuns(text));
}

void ShowEncoding(CommandCall& call, HashedKey, std::string_view text) {
  call.reply.Status(hll::IsSparse(text) ? "sparse" : "dense");
}

// 1 if it was sparse before.
void ToDense(CommandCall& call, HashedKey key, std::string_view text) {
  const bool sparse = hll::IsSparse(text);
  if (Densify(call, key, text)) call.reply.Integer(sparse ? 1 : 0);
}

// A row for each word. Each handler gets a text that is a HyperLogLog by its header.
struct DebugWord {
  std::string_view word;
  void (*run)(CommandCall& call, HashedKey key, std::string_view text);
};
constexpr DebugWord kDebugWords[] = {
    {"GETREG", GetRegisters},
    {"DECODE", Decode},
    {"ENCODING", ShowEncoding},
    {"TODENSE", ToDense},
};

// The key comes before the word: an unknown word for a missing key is told as a missing key.
void PfDebug(CommandCall& call) {
  const HashedKey key = call.Key(2);
  const Entry* const entry = LookUp(call, key);
  if (!entry) return call.reply.Error("ERR The specified key does not exist");
  std::optional<std::string_view> text;
  if (!TextOf(call, entry, text)) return;
  for (const DebugWord& row : kDebugWords) {
    if (IsWord(call.args[1], row.word)) return row.run(call, key, *text);
  }
  // Redis formats it as a C string.
  const std::string_view word = call.args[1].substr(0, call.args[1].find('\0'));
  call.reply.Error(Concat("ERR Unknown PFDEBUG subcommand '", word, "'"));
}

// --- PFSELFTEST

// Adds ever more elements to a sparse and a dense one, which must agree, and whose estimates must
// lie within four standard errors.
std::string SelfTest() {
  constexpr uint64_t kElements = 100'000;
  constexpr size_t kSparseBytes = 3000;
  constexpr double kErrorMax = 4 * 1.04 / 128;
  Edited sparse{.text = hll::Empty()};
  Edited dense{.text = hll::Empty()};
  hll::MakeDense(dense.text);
  uint64_t checked = 1;
  for (uint64_t i = 1; i <= kElements; ++i) {
    const hll::Place place = hll::PlaceOf(std::to_string(i));
    sparse.Raise(place, kSparseBytes);
    dense.Raise(place, kSparseBytes);
    if (i != checked) continue;
    checked *= 10;
    const auto of_sparse = std::make_unique<hll::Registers>();
    const auto of_dense = std::make_unique<hll::Registers>();
    if (!hll::MergeInto(*of_sparse, sparse.text) || !hll::MergeInto(*of_dense, dense.text) ||
        *of_sparse != *of_dense) {
      return "ERR TESTFAILED dense/sparse disagree";
    }
    const auto estimate = static_cast<double>(hll::Estimate(*of_dense));
    const auto count = static_cast<double>(i);
    if (std::abs(estimate - count) > std::max(1.0, count * kErrorMax)) {
      return Concat("ERR TESTFAILED Too big error. card:", i);
    }
  }
  return "";
}

// Some 10 ms, in one piece.
void PfSelfTest(CommandCall& call) {
  const std::string fault = SelfTest();
  fault.empty() ? call.reply.Ok() : call.reply.Error(fault);
}

// --- the table

// PFCOUNT is read-only and may replicate: it may write the cached estimate.
constexpr CommandRow kHyperLogLogsListed[] = {
    {.name = "PFADD",
     .arity = -2,
     .flags = kWrite | kDenyOom | kFast,
     .keys = KeyAt(1, kKeyRw | kKeyInsert),
     .run = PfAdd,
     .complexity = "O(1) to add every element.",
     .usage = "key [element [element ...]]",
     .summary = "Count elements that may have come before; 1 if the estimate may have changed."},
    {.name = "PFCOUNT",
     .arity = -2,
     .flags = kReadOnly | kMayReplicate,
     .keys = {{KeySpec{.flags = kKeyRw | kKeyAccess,
                       .begin = 1,
                       .last = -1,
                       .notes = "RW because it may change the internal representation of the key, "
                                "and propagate to replicas"}},
              1},
     .run = PfCount,
     .complexity = "O(1) with a very small average constant time when called with a single key. "
                   "O(N) with N being the number of keys, and much bigger constant times, when "
                   "called with multiple keys.",
     .usage = "key [key ...]",
     .summary = "About how many different elements were counted, under all keys together."},
    {.name = "PFDEBUG",
     .arity = 3,
     .flags = kWrite | kDenyOom | kAdmin | kSystem,
     .keys = KeyAt(2, kKeyRw | kKeyAccess),
     .run = PfDebug,
     .complexity = "N/A",
     .usage = "subcommand key",
     .summary = "How a HyperLogLog is kept: ENCODING, DECODE, GETREG, TODENSE."},
    {.name = "PFMERGE",
     .arity = -2,
     .flags = kWrite | kDenyOom,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyInsert) + KeyRange(2, -1, 1, kKeyRo | kKeyAccess),
     .run = PfMerge,
     .complexity = "O(N) to merge N HyperLogLogs, but with high constant times.",
     .usage = "destkey:key sourcekey:key [sourcekey:key ...]",
     .summary = "Merge HyperLogLogs into one that has counted what any of them has."},
    {.name = "PFSELFTEST",
     .arity = 1,
     .flags = kAdmin | kSystem,
     .run = PfSelfTest,
     .complexity = "N/A",
     .summary = "Check the estimates against elements that were counted."},
};
constexpr auto kHyperLogLogsRows = RowsOf(
    kHyperLogLogsListed, {.categories = kCatHyperLogLog, .group = "hyperloglog", .since = "2.8.9"});

}  // namespace

CommandFamily HyperLogLogsFamily() { return {"hyperloglogs", kSpecsOf<kHyperLogLogsRows>}; }

}  // namespace sluice
