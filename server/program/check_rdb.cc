// See check_rdb.h.
#include "server/program/check_rdb.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/program/file_source.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "storage/hashing/key_hash.h"
#include "storage/locks/lock.h"
#include "storage/rdb/rdb_file_reader.h"
#include "storage/rdb/rdb_lock.h"
#include "storage/rdb/rdb_types.h"

namespace sluice {
namespace {

constexpr size_t kShownMax = 200;  // of what a file says of itself
constexpr uint64_t kMendedShownMax = 100;

// A lock beside all keyspaces, with its holders.
std::unique_ptr<Value> FreestandingLock(const LockImage& image) {
  auto lock = std::make_unique<Lock>();
  for (const LockHolder& holder : image.holders) lock->Restore(holder, image.shape);
  return lock;
}

// Counts what is in a file. Keeps a hash of every key, 16 bytes, to find keys that are there twice.
class Census final : public RdbFileVisitor {
 public:
  // The key is secret, so that no file can be made whose names collide.
  explicit Census(const SipKey& key) : key_(key) {}

  std::string Aux(std::string_view name, std::string_view value) override {
    ConcatTo(aux_, "  ", QuotedWord(name.substr(0, kShownMax)), ' ',
             QuotedWord(value.substr(0, kShownMax)), '\n');
    return {};
  }
  std::string Function(std::string_view) override {
    ++functions_;
    return {};
  }
  std::string Key(RdbFileKey& key) override {
    if (!seen_.insert(SipHash13(Concat(key.db, ' ', key.name), key_)).second) {
      return "it is there twice";
    }
    Keys& keys = databases_[key.db];
    ++keys.count;
    if (!key.deadline.none()) ++keys.with_deadline;
    const RdbTypeName type = RdbTypeNameOf(key.type);
    const std::string_view name = key.value.value ? TypeName(key.value.value->type()) : type.name;
    ++keys.by_type[Concat(name, " (", type.form, ')')];
    return {};
  }
  void LeftOut(const RdbLeftOut& what) override {
    if (what.module.empty()) {
      ++databases_[what.db].by_type["empty, left out"];
    } else {
      ++unknown_[Concat(QuotedWord(what.module), what.key ? "" : " (data beside keys)")];
    }
  }

  void Mended(const RdbFileKey& key, std::string_view what) override {
    if (++mended_keys_ > kMendedShownMax) return;
    ConcatTo(mended_, "  ", RdbKeyFault(key, what), '\n');
  }

  std::string Listing() const {
    std::string text = aux_.empty() ? std::string() : Concat("It says of itself:\n", aux_);
    if (functions_ > 0) ConcatTo(text, "Libraries of functions: ", functions_, '\n');
    for (const auto& [db, keys] : databases_) {
      ConcatTo(text, "Database ", db, ": ", keys.count, " keys, ", keys.with_deadline,
               " with a deadline\n");
      for (const auto& [type, count] : keys.by_type) ConcatTo(text, "  ", count, ' ', type, '\n');
    }
    for (const auto& [module, count] : unknown_) {
      ConcatTo(text, "Of module type ", module, ", which is not known here: ", count, '\n');
    }
    if (mended_keys_ > 0) {
      ConcatTo(text, "What ", mended_keys_, " keys say of themselves does not fit their content; ",
               "a server that loads them mends it:\n", mended_);
    }
    return text;
  }

 private:
  struct Keys {
    uint64_t count = 0, with_deadline = 0;
    std::map<std::string, uint64_t> by_type;
  };

  const SipKey key_;
  absl::flat_hash_set<uint64_t> seen_;
  std::string aux_;
  uint64_t functions_ = 0;
  std::map<uint64_t, Keys> databases_;
  std::map<std::string, uint64_t> unknown_;
  std::string mended_;
  uint64_t mended_keys_ = 0;
};

int Fail(std::FILE* errors, std::string_view sentence) {
  std::fprintf(errors, "sluice: %s\n", HarmlessLine(sentence, TextOfTerminal()).c_str());
  return 1;
}

// Nothing ends before it is counted: engine time stands long before every moment in a file.
RdbContext ContextOf(HashKeys& hash_keys) {
  RdbContext context;
  context.now.unix_offset_ms = 0;
  context.hash.hash_keys = context.set.hash_keys = context.sorted_set.hash_keys = &hash_keys;
  context.make_lock = FreestandingLock;
  return context;
}

}  // namespace

int CheckRdb(const std::string& path, const SipKey& secret, std::FILE* out, std::FILE* errors) {
  FileSource file;
  if (const std::string fault = file.Open(path); !fault.empty()) return Fail(errors, fault);
  HashKeys hash_keys(secret);
  Census census(hash_keys.Next());
  const RdbContext context = ContextOf(hash_keys);
  const RdbFileOptions options{
      .databases = UINT64_MAX, .skip_unknown = true, .string_bytes_max = file.size()};
  RdbFileReader reader(file, context, options, census);
  const bool whole = reader.ReadAll();
  if (reader.version() > 0) {
    std::fprintf(out, "%s: RDB version %d, %llu bytes\n", path.c_str(), reader.version(),
                 static_cast<unsigned long long>(file.size()));
  }
  const std::string listing = HarmlessLines(census.Listing(), TextOfTerminal());
  std::fwrite(listing.data(), 1, listing.size(), out);
  if (!whole) return Fail(errors, Concat(path, ": ", reader.error()));
  if (reader.offset() < file.size()) {
    std::fprintf(out, "It ends at offset %llu; what follows is no part of it.\n",
                 static_cast<unsigned long long>(reader.offset()));
  }
  std::fprintf(out, "%s",
               reader.has_checksum() ? "It is whole: its checksum is right.\n"
                                     : "It is whole, but has no checksum.\n");
  return 0;
}

}  // namespace sluice
