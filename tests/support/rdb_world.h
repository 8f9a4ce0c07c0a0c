// A keyspace that RDB files are read into and written from, without a server.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/text/concat.h"
#include "storage/keyspace/keyspace.h"
#include "storage/locks/lock.h"
#include "storage/rdb/rdb_file_reader.h"
#include "storage/rdb/rdb_file_writer.h"
#include "storage/rdb/rdb_lock.h"
#include "tests/support/byte_strings.h"
#include "tests/support/manual_clock.h"
#include "tests/support/null_observer.h"

namespace sluice {

class RdbWorld : public RdbFileVisitor {
 public:
  static constexpr int kDatabases = 16;

  std::map<std::string, std::string> aux;
  std::vector<std::string> functions;
  std::vector<std::string> left_out;
  std::vector<std::string> mended;
  std::vector<std::string> hints;
  std::vector<RdbType> types;  // of the keys, in the file's order
  ManualClock clock;
  std::optional<size_t> small_members;  // up to here hashes and sorted sets are small

  Now now() { return clock.Sample(); }
  Keyspace& keyspace() { return keyspace_; }
  TimerWheel& wheel() { return wheel_; }
  HashedKey Key(std::string_view key) const { return keyspace_.Hash(key); }
  const Entry* Find(int db, std::string_view key) {
    return keyspace_.db(db).FindEvenExpired(Key(key));
  }
  RdbContext Context() {
    RdbContext context;
    context.now = now();
    HashKeys& keys = keyspace_.hash_keys();
    context.hash.hash_keys = context.set.hash_keys = context.sorted_set.hash_keys = &keys;
    context.make_lock = MakePlainLock;
    if (small_members) context.hash.fields = context.sorted_set.members_max = *small_members;
    return context;
  }

  // The reader's sentence; empty when the file is whole.
  std::string Load(std::string_view file, const RdbFileOptions& options = {}) {
    StringSource source(file);
    return Load(source, options);
  }
  std::string Load(ByteSource& source, const RdbFileOptions& options = {}) {
    const RdbContext context = Context();
    RdbFileReader reader(source, context, options, *this);
    const bool whole = reader.ReadAll();
    offset = whole ? reader.offset() : reader.fault_offset();
    has_checksum = reader.has_checksum();
    return reader.error();
  }
  uint64_t offset = 0;  // of the end or the fault of what was loaded last
  bool has_checksum = false;

  std::string Save(bool checksum = true) {
    StringSink sink;
    const RdbContext context = Context();
    RdbFileWriter writer(sink, context, checksum);
    for (const auto& [name, value] : aux) {
      if (name != kRdbRelativeField) writer.Aux(name, value);
    }
    for (const std::string& code : functions) writer.Function(code);
    for (int i = 0; i < kDatabases; ++i) {
      if (!keyspace_.made(i) || keyspace_.db(i).size() == 0) continue;
      writer.BeginDatabase(static_cast<uint64_t>(i), keyspace_.db(i).size(),
                           keyspace_.db(i).volatile_size());
      keyspace_.db(i).ForEach([&](const Entry& entry) { writer.Key(entry); });
    }
    return writer.End() ? sink.bytes : std::string();
  }

  // Every key with its deadline and its dump, sorted.
  std::map<std::string, std::string> Content() {
    std::map<std::string, std::string> content;
    RdbContext context = Context();
    context.compress = false;
    for (int i = 0; i < kDatabases; ++i) {
      if (!keyspace_.made(i)) continue;
      keyspace_.db(i).ForEach([&](const Entry& entry) {
        content[Concat(i, '/', entry.key())] = ContentOf(entry, context);
      });
    }
    return content;
  }
  static std::string ContentOf(const Entry& entry, const RdbContext& context) {
    const Deadline deadline = entry.deadline();
    return Concat(static_cast<int>(deadline.kind), ' ', deadline.ms, ' ',
                  Sorted(WriteDump(entry, context), entry.type()));
  }

  // --- RdbFileVisitor
  std::string Aux(std::string_view name, std::string_view value) override {
    aux[std::string(name)] = value;
    return {};
  }
  std::string Function(std::string_view code) override {
    functions.emplace_back(code);
    return {};
  }
  std::string Key(RdbFileKey& key) override {
    Database& db = keyspace_.db(static_cast<int>(key.db));
    const HashedKey name = Key(key.name);
    if (db.FindEvenExpired(name)) return "it is there twice";
    types.push_back(key.type);
    if (!key.value.Ended(now())) PutRdbValue(db, name, std::move(key.value), key.deadline, now());
    return {};
  }
  void LeftOut(const RdbLeftOut& what) override {
    left_out.push_back(Concat(what.module, '/', what.key ? *what.key : "(no key)"));
  }
  void Mended(const RdbFileKey& key, std::string_view what) override {
    mended.push_back(RdbKeyFault(key, what));
  }
  void SizeHint(uint64_t db, uint64_t keys, uint64_t with_deadline) override {
    hints.push_back(Concat(db, ' ', keys, ' ', with_deadline));
  }

 private:
  // Sets and hashes come in any order, on which the checksum depends.
  static std::string Sorted(std::string dump, ValueType type) {
    dump.resize(dump.size() - kRdbFooterBytes);
    if (type == ValueType::kSet || type == ValueType::kHash) std::ranges::sort(dump);
    return dump;
  }

  NullObserver observer_;
  TimerWheel wheel_{0};
  Keyspace keyspace_{kDatabases, SipKey{7}, wheel_, observer_};
};

}  // namespace sluice
