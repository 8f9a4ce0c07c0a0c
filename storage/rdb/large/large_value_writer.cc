// See large_value_writer.h. Each type's writer puts its type and count into the first piece, and
// goes on by a cursor that holds as long as the value does not change.
#include "storage/rdb/large/large_value_writer.h"

#include <algorithm>

#include "storage/rdb/rdb_limits.h"
#include "storage/rdb/rdb_lock.h"
#include "storage/rdb/rdb_module.h"
#include "storage/rdb/rdb_stream.h"

namespace sluice {
namespace {

// Elements between two looks at how long the piece is, at most.
constexpr size_t kFewMax = 32;
// Calls of WriteSome a piece.
constexpr int kFewTimesMax = 8;
// Records of limiters and buckets at once: of some 5 bytes each.
constexpr size_t kFewTicks = 128;

class LargeTextWriter final : public LargeValueWriter {
 public:
  explicit LargeTextWriter(std::string_view text) : LargeValueWriter(false), left_(text) {
    out().Type(RdbType::kString);
    out().Length(text.size());
  }

 private:
  bool WriteSome() override {
    const size_t bytes = std::min(left_.size(), kPieceBytes);
    out().Raw(left_.substr(0, bytes));
    left_.remove_prefix(bytes);
    return !left_.empty();
  }

  std::string_view left_;
};

class LargeListWriter final : public LargeValueWriter {
 public:
  LargeListWriter(const List& list, bool compress)
      : LargeValueWriter(compress), list_(list), chunk_(list.FirstChunk()) {
    out().Type(RdbType::kQuicklist);
    out().Length(list.chunks());
  }

 private:
  bool WriteSome() override {
    WriteListNode(*chunk_, out());
    chunk_ = list_.NextChunk(*chunk_);
    return chunk_ != nullptr;
  }

  const List& list_;
  const ListChunk* chunk_;
};

class LargeSetWriter final : public LargeValueWriter {
 public:
  LargeSetWriter(const Set& set, bool compress, size_t few)
      : LargeValueWriter(compress), set_(set), few_(few) {
    out().Type(RdbType::kSet);
    out().Length(set.size());
  }

 private:
  bool WriteSome() override {
    cursor_ = set_.Scan(cursor_, few_, [this](std::string_view member) { out().String(member); });
    return cursor_ != 0;
  }

  const Set& set_;
  const size_t few_;
  uint64_t cursor_ = 0;
};

class LargeSortedSetWriter final : public LargeValueWriter {
 public:
  LargeSortedSetWriter(const SortedSet& set, bool compress, size_t few)
      : LargeValueWriter(compress), set_(set), few_(few), left_(set.size()) {
    out().Type(RdbType::kSortedSet);
    out().Length(left_);
  }

 private:
  // From the highest score down, as WriteSortedSet.
  bool WriteSome() override {
    const size_t from = left_ - std::min(left_, few_);
    set_.ForEach({from, left_}, SortedSet::Direction::kDown,
                 [this](std::string_view name, double score) {
                   out().String(name);
                   out().Double(score);
                   return true;
                 });
    left_ = from;
    return left_ > 0;
  }

  const SortedSet& set_;
  const size_t few_;
  size_t left_;
};

// Without deadlines of fields.
class LargeHashWriter final : public LargeValueWriter {
 public:
  LargeHashWriter(const Hash& hash, const RdbContext& context, size_t few)
      : LargeValueWriter(context.compress), hash_(hash), now_(context.now), few_(few) {
    out().Type(RdbType::kHash);
    out().Length(hash.CountLive(now_));
  }

 private:
  bool WriteSome() override {
    cursor_ =
        hash_.Scan(cursor_, few_, now_, [this](std::string_view name, std::string_view value) {
          out().String(name);
          out().String(value);
        });
    return cursor_ != 0;
  }

  const Hash& hash_;
  const Now now_;
  const size_t few_;
  uint64_t cursor_ = 0;
};

// With them. Fields that are over, but there, are written too: see WriteRdbFileValue.
class LargeTimedHashWriter final : public LargeValueWriter {
 public:
  LargeTimedHashWriter(const Hash& hash, const RdbContext& context, size_t few)
      : LargeValueWriter(context.compress),
        hash_(hash),
        now_(BeforeAllDeadlines(context.now)),
        few_(few),
        module_(kRdbTimedHash, out()) {
    module_.Unsigned(hash.size());
  }

 private:
  bool WriteSome() override {
    cursor_ = hash_.Scan(cursor_, few_, now_, [this](std::string_view name, std::string_view text) {
      WriteModuleField(hash_, name, text, now_, module_);
    });
    if (cursor_ == 0) module_.End();
    return cursor_ != 0;
  }

  const Hash& hash_;
  const Now now_;
  const size_t few_;
  ModuleWriter module_;
  uint64_t cursor_ = 0;
};

class LargeStreamWriter final : public LargeValueWriter {
 public:
  LargeStreamWriter(const Stream& stream, bool compress)
      : LargeValueWriter(compress), parts_(stream) {
    out().Type(RdbType::kStream2);
  }

 private:
  bool WriteSome() override { return parts_.WriteNext(out()); }

  StreamParts parts_;
};

// Writes a type of ours, which divides itself.
template <typename Parts>
class LargePartsWriter final : public LargeValueWriter {
 public:
  template <typename T>
  LargePartsWriter(const T& value, const RdbContext& context, size_t few)
      : LargeValueWriter(context.compress),
        now_(ValuesMoment(context)),
        few_(few),
        parts_(value, now_, out()) {}

 private:
  bool WriteSome() override { return parts_.WriteNext(few_); }

  const Now now_;
  const size_t few_;
  Parts parts_;  // of now_
};

template <typename T>
const T& ValueOf(const Entry& entry) {
  return static_cast<const T&>(entry.value());
}

std::unique_ptr<LargeValueWriter> WriterOfHash(const Hash& hash, const RdbContext& context,
                                               size_t few) {
  if (hash.Encoding() == "listpack") return nullptr;
  if (hash.has_deadlines() && !context.for_redis)
    return std::make_unique<LargeTimedHashWriter>(hash, context, few);
  return std::make_unique<LargeHashWriter>(hash, context, few);
}

}  // namespace

std::unique_ptr<LargeValueWriter> LargeValueWriter::Of(const Entry& entry,
                                                       const RdbContext& context,
                                                       size_t large_bytes) {
  if (entry.OutsideBytes() < large_bytes) return nullptr;
  const bool compress = context.compress;
  switch (entry.type()) {
    case ValueType::kString: {
      char unused[Entry::kTextScratch];
      return std::make_unique<LargeTextWriter>(entry.Text(unused));
    }
    case ValueType::kList:
      return std::make_unique<LargeListWriter>(ValueOf<List>(entry), compress);
    case ValueType::kSet:
      if (ValueOf<Set>(entry).Encoding() != "hashtable") return nullptr;
      return std::make_unique<LargeSetWriter>(ValueOf<Set>(entry), compress,
                                              FewOf(entry, ValueOf<Set>(entry).size()));
    case ValueType::kSortedSet:
      if (ValueOf<SortedSet>(entry).Encoding() != "skiplist") return nullptr;
      return std::make_unique<LargeSortedSetWriter>(ValueOf<SortedSet>(entry), compress,
                                                    FewOf(entry, ValueOf<SortedSet>(entry).size()));
    case ValueType::kHash:
      return WriterOfHash(ValueOf<Hash>(entry), context, FewOf(entry, ValueOf<Hash>(entry).size()));
    case ValueType::kStream:
      return std::make_unique<LargeStreamWriter>(ValueOf<Stream>(entry), compress);
    case ValueType::kLimiter:
      return std::make_unique<LargePartsWriter<LimiterParts>>(ValueOf<Limiter>(entry), context,
                                                              kFewTicks);
    case ValueType::kLeakyBucket:
      return std::make_unique<LargePartsWriter<LargeBucketParts>>(ValueOf<LeakyBucket>(entry),
                                                                  context, kFewTicks);
    case ValueType::kLock:
      return std::make_unique<LargePartsWriter<LargeLockParts>>(
          ValueOf<Lock>(entry), context, FewOf(entry, ValueOf<Lock>(entry).holders().size()));
  }
  return nullptr;
}

std::string_view LargeValueWriter::Next(size_t bytes) {
  if (is_begun_) piece_.clear();
  is_begun_ = true;
  int times = 0;
  do {
    has_more_ = WriteSome();
  } while (has_more_ && piece_.size() < bytes && ++times < kFewTimesMax);
  return piece_;
}

size_t LargeValueWriter::FewOf(const Entry& entry, size_t elements) {
  const size_t bytes = std::max<size_t>(entry.OutsideBytes(), 1);
  return std::clamp<size_t>(elements * kPieceBytes / bytes, 1, kFewMax);
}

}  // namespace sluice
