// Compare and act in one step: the release and the renewal of a lock without a script. DELEX and
// DIGEST are Redis 8.4's, DELIFEQ is Valkey 9's, CAS and CAD are Tair's and kvrocks's.
//
// The usual release of a lock, without a script:
//
//   SET lock my-token NX PX 30000     take it, for 30 s
//   DELEX lock IFEQ my-token          give it back, if it is still mine
//   CAS lock my-token my-token PX 30000   keep it for another 30 s
//
// A comparison of the bytes costs O(bytes); a digest spares the client from sending a long value.
// The log gets DEL or SET, never the condition: a replay has to do what was done.

#include <optional>
#include <string>

#include "protocol/text/concat.h"
#include "server/commands/families.h"
#include "server/commands/shared/expiry_args.h"
#include "server/commands/shared/lookup.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/commands/shared/value_condition.h"
#include "server/dispatch/arg_reader.h"
#include "storage/types/digest.h"

namespace sluice {
namespace {

// --- DELEX, DELIFEQ, CAD

struct DelExOptions {
  ValueCondition condition;
};

// DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]
constexpr OptionRow<DelExOptions> kDelExOptions[] = {
    kConditionRow<DelExOptions, ValueCondition::Kind::kEqual>,
    kConditionRow<DelExOptions, ValueCondition::Kind::kNotEqual>,
    kConditionRow<DelExOptions, ValueCondition::Kind::kDigest>,
    kConditionRow<DelExOptions, ValueCondition::Kind::kNotDigest>,
};

// The order of checks: arity, then the key (a missing one is 0, even with a condition that makes no
// sense), then the type, then the condition. Without a condition it is DEL of one key of any type.
// After `SET k mine`:
//   DELEX k IFEQ yours    → 0
//   DELEX k IFNE yours    → 1
//   DELEX nothing IFEQ x  → 0
// After `RPUSH l a`:
//   DELEX l               → 1  without a condition: any type
void DelEx(CommandCall& call) {
  if (call.args.size() != 2 && call.args.size() != 4) {
    return call.reply.Error("ERR wrong number of arguments for 'delex' command");
  }
  const HashedKey key = call.Key(1);
  const Entry* const entry = LookUp(call, key);
  if (!entry) return call.reply.Integer(0);
  DelExOptions options;
  ArgReader args(call.args, 2);
  if (args.more()) {
    if (!entry->is_string()) {
      return call.reply.Error("ERR Key should be of string type if conditions are specified");
    }
    if (!TakeOption(args, kDelExOptions, options)) {
      return call.reply.Error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
    }
    if (!options.condition.OperandIsSound()) return call.reply.Error(kDigestFault);
    if (!options.condition.Holds(entry)) return call.reply.Integer(0);
  }
  DeleteAsEffect(call, key);
  call.reply.Integer(1);
}

// DELIFEQ and CAD differ in what they answer for a missing key.
void DeleteIfEqual(CommandCall& call, int64_t if_missing) {
  const HashedKey key = call.Key(1);
  const Entry* const entry = LookUp(call, key);
  if (!entry) return call.reply.Integer(if_missing);
  if (!IsTextOrMissing(call, entry)) return;
  if (!TextEquals(*entry, call.args[2])) return call.reply.Integer(0);
  DeleteAsEffect(call, key);
  call.reply.Integer(1);
}
void DelIfEq(CommandCall& call) { DeleteIfEqual(call, 0); }
void Cad(CommandCall& call) { DeleteIfEqual(call, -1); }

// --- CAS

struct CasOptions {
  ExpiryArg expiry;
};

constexpr OptionRow<CasOptions> kCasOptions[] = {kExpiryRow<CasOptions, ExpiryKind::kEx>,
                                                 kExpiryRow<CasOptions, ExpiryKind::kPx>};

// CAS key old new [EX seconds | PX milliseconds]. Like SET, it ends a time to live that it is not
// told to renew. The answer is 1 when the value was swapped, 0 when another one was there, -1 for
// no key. The options are read first: a fault there wins over all. After `SET k old EX 100`:
//   CAS k wrong new      → 0
//   CAS k old new        → 1
//   TTL k                → -1
//   CAS nothing old new  → -1
void Cas(CommandCall& call) {
  ArgReader args(call.args, 4);
  CasOptions options;
  ReadOptions(args, kCasOptions, options);
  if (args.failed()) return call.reply.Error(args.error());
  const ExpiryArg& expiry = options.expiry;
  Deadline deadline;
  if (expiry.timed() && !ReadDeadline(call, expiry, deadline)) return;

  const HashedKey key = call.Key(1);
  const Entry* const entry = LookUp(call, key);
  if (!entry) return call.reply.Integer(-1);
  if (!IsTextOrMissing(call, entry)) return;
  if (!TextEquals(*entry, call.args[2])) return call.reply.Integer(0);
  const std::string_view value = call.args[3];
  call.db.PutText(key, value, deadline, call.now);
  SaySet(call, key, expiry.timed());
  ReplaceWithSet(call, key.bytes, value, deadline);
  call.reply.Integer(1);
}

// 16 hex digits of XXH3, the same as Redis 8.4 gives, so that a digest taken there holds here.
// After `SET k abc`:
//   DIGEST k        → "78af5f94892f3950"  XXH3 of 64 bits, as hexadecimal digits
//   DIGEST nothing  → nil
void Digest(CommandCall& call) {
  const Entry* const entry = LookUpToRead(call, call.Key(1));
  if (!entry) return call.reply.Null();
  if (!IsTextOrMissing(call, entry)) return;
  char scratch[Entry::kTextScratch];
  call.reply.Bulk(DigestText(ValueDigest(entry->Text(scratch))));
}

// --- the table

// A comparison tells of the value.
uint16_t DelExKeyFlags(const Request& request) {
  constexpr uint16_t kDeletes = kKeyRw | kKeyDelete;
  return request.args.size() == 2 ? kDeletes : kDeletes | kKeyAccess;
}

// DELIFEQ and its like only delete, so they work when the memory is full.
constexpr CommandRow kCompareAndSetRows[] = {
    {.name = "DELEX",
     .arity = -2,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete | kKeyVariableFlags,
                   "without a condition it does not look at the value"),
     .run = DelEx,
     .group = "string",
     .since = "8.4.0",
     .complexity = "O(1) for IFEQ and IFNE, O(N) for IFDEQ and IFDNE where N is the length of the "
                   "string.",
     .usage = "key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]",
     .summary = "Delete a key if its string, or the digest of it, is as expected; 1 or 0.",
     .key_flags = DelExKeyFlags},
    {.name = "DELIFEQ",
     .arity = 3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = DelIfEq,
     .group = "string",
     .since = "0.1.0",
     .complexity = "O(1)",
     .usage = "key value",
     .summary = "Delete a key if it holds exactly this string; 1 or 0."},
    {.name = "DIGEST",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRo | kKeyAccess),
     .run = Digest,
     .group = "string",
     .since = "8.4.0",
     .complexity = "O(N) where N is the length of the string.",
     .usage = "key",
     .summary = "The XXH3 digest of a string in 16 hexadecimal digits, or null."},
    {.name = "CAS",
     .arity = -4,
     .flags = kNotInRedis70 | kWrite | kDenyOom | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyUpdate),
     .run = Cas,
     .group = "string",
     .since = "0.1.0",
     .complexity = "O(1)",
     .usage = "key old-value new-value [EX seconds | PX milliseconds]",
     .summary = "Replace a string if it is the expected one: 1, 0, or -1 without the key."},
    {.name = "CAD",
     .arity = 3,
     .flags = kNotInRedis70 | kWrite | kFast,
     .categories = kCatString,
     .keys = KeyAt(1, kKeyRw | kKeyAccess | kKeyDelete),
     .run = Cad,
     .group = "string",
     .since = "0.1.0",
     .complexity = "O(1)",
     .usage = "key value",
     .summary = "Delete a key if it holds exactly this string: 1, 0, or -1 without the key."},
};

}  // namespace

CommandFamily CompareAndSetFamily() { return {"compare_and_set", kSpecsOf<kCompareAndSetRows>}; }

}  // namespace sluice
