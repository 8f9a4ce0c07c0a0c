// RequestMemory: answers to requests that named themselves (ID), so that the same request, asked
// again because its answer was lost, gets the same answer and counts once.
//
//   memory.Remember("7f3a", {.fingerprint = 5, .at_ms = 100, .for_ms = 60'000, .values = {1, 9}},
//   now); memory.Find("7f3a", now)   // until 60,100; null from then on
//
// It is bounded in bytes: the newest drive out the oldest. Answers whose time is over go when
// others come. Ids are at most kRequestIdBytesMax long: callers hash longer ones (RequestId).
//
// A record is its id, and its numbers as varints. With a UUID, and the verdict of a limit, that is
// some 70 bytes, and some 14 in the table. The records stand in a ring in the order in which they
// came, and in tables by the hashes of their ids; one whose id was remembered anew stays in the
// ring as a dead one until its turn. Nothing here knows what the values mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "storage/hashing/key_hash.h"
#include "storage/requests/record_ring.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr size_t kRequestIdBytesMax = 71;         // "sha256:" and 64 digits
inline constexpr size_t kRequestIdPlainMax = 64;         // what is kept as it is
inline constexpr int64_t kRequestForMsMax = 86'400'000;  // a day

// An id as it is kept: a longer one is its SHA-256, which looks like no shorter one that is kept.
// Its bytes are in the object, as it is made and passed on with each request that has one.
class RequestId {
 public:
  RequestId() = default;  // none
  explicit RequestId(std::string_view given);
  // From what view() has said. Requires: it has at most kRequestIdBytesMax bytes.
  static RequestId Kept(std::string_view kept);

  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }
  operator std::string_view() const { return view(); }  // NOLINT: an id is its bytes

 private:
  void Set(std::string_view bytes);

  uint8_t size_ = 0;
  std::array<char, kRequestIdBytesMax> bytes_;  // the first size_ of them
};

class RequestMemory {
 public:
  using Values = absl::InlinedVector<int64_t, 8>;
  // An answer whose values stand elsewhere.
  struct AnswerView {
    uint64_t fingerprint = 0;  // of all else that the request says
    int64_t at_ms = 0;         // engine time
    int64_t for_ms = 0;        // 1 to kRequestForMsMax
    std::span<const int64_t> values;
  };
  struct Answer {
    uint64_t fingerprint = 0;
    int64_t at_ms = 0;
    int64_t for_ms = 0;
    Values values;

    operator AnswerView() const {  // NOLINT: the same, as others take it
      return {fingerprint, at_ms, for_ms, values};
    }
  };

  // An id, hashed once for all that is done with it.
  struct HashedId {
    std::string_view bytes;
    uint64_t hash;
  };

  explicit RequestMemory(const TableKey& key) : key_(key) {}
  RequestMemory(const RequestMemory&) = delete;

  HashedId Hashed(std::string_view id) const { return {id, HashName(id, key_)}; }

  // None: nothing is remembered under this id, or no longer. O(1).
  std::optional<Answer> Find(const HashedId& id, const Now& now) const;
  std::optional<Answer> Find(std::string_view id, const Now& now) const {
    return Find(Hashed(id), now);
  }
  // In place of what was remembered under the id. O(values), and kForgottenPerCall others that go.
  // Requires: the id has 1 to kRequestIdBytesMax bytes.
  void Remember(const HashedId& id, const AnswerView& answer, const Now& now);
  void Remember(std::string_view id, const Answer& answer, const Now& now) {
    Remember(Hashed(id), answer, now);
  }
  // 0: nothing is remembered from now on. Records that are too many go with the next that come.
  void set_bytes_max(size_t bytes) { bytes_max_ = bytes; }

  size_t size() const { return size_; }  // ids, those that are over included
  size_t bytes() const { return bytes_; }
  uint64_t evicted() const { return evicted_; }  // for want of room, since the start

  // --- for an image of this instant, in slices
  void BeginImage() {
    image_next_ = ring_.first();
    image_last_ = last_;
  }
  // Visits so many of those that were there; false when there are no more.
  bool ImageSlice(size_t budget, const Now& now,
                  absl::FunctionRef<void(std::string_view id, const Answer& answer)> visit);
  void EndImage() { image_next_ = {}; }

  static constexpr size_t kForgottenPerCall = 64;  // some 10 µs

 private:
  struct Record;
  struct Hash {
    using is_transparent = void;
    size_t operator()(const HashedId& id) const { return id.hash; }
    size_t operator()(const Record* record) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Record* a, const Record* b) const { return a == b; }
    bool operator()(const Record* a, const HashedId& id) const;
    bool operator()(const HashedId& id, const Record* a) const { return (*this)(a, id); }
  };
  using Table = absl::flat_hash_set<Record*, Hash, Equal>;
  static constexpr size_t kTables = 256;    // each grows by itself: a step moves 1/256 of all
  static constexpr size_t kSlotBytes = 14;  // of a table, on average

  // By upper bits: a table uses the lower ones itself.
  static size_t IndexOf(const HashedId& id) { return (id.hash >> 40) % kTables; }
  Table& TableOf(const HashedId& id) { return tables_[IndexOf(id)]; }
  const Table& TableOf(const HashedId& id) const { return tables_[IndexOf(id)]; }
  // The newest of all; one of the same id stays in the ring, as a dead one.
  void Add(Record* record, const HashedId& id);
  static const Record* RecordAt(RecordRing::Cursor place);
  Answer AnswerOf(const Record& record) const;
  bool IsOver(const Record& record, const Now& now) const;
  void ForgetFirst();
  void PassImage(const Record& record);
  // So many of what is over, or too much; not the newest.
  void ForgetSome(const Record* newest, const Now& now);
  size_t BytesOf(const Record& record) const;

  const KeyspaceKey key_;
  std::vector<Table> tables_;  // from the first one on
  RecordRing ring_;
  const Record* last_ = nullptr;
  RecordRing::Cursor image_next_;
  const Record* image_last_ = nullptr;
  size_t size_ = 0;
  size_t bytes_ = 0;
  size_t bytes_max_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace sluice
