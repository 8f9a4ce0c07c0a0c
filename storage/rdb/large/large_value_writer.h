// LargeValueWriter: one large value in RDB form, a piece at a time, so that no turn lasts as long
// as a value is large. From the first piece to the last the value must not change; the saver sees
// to that (EntrySaver).
//
//   const std::unique_ptr<LargeValueWriter> writer = LargeValueWriter::Of(entry, context, bytes);
//   while (writer->has_more()) Use(writer->Next());
//
// An element is never divided.
//
// A large text is not compressed: that needs the whole text at once. A large list has a node for
// each of its chunks. A bucket and a lock have forms of their own (rdb_limits.h, rdb_lock.h). In
// all else the bytes are those of WriteRdbFileValue.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "storage/keyspace/entry.h"
#include "storage/rdb/rdb_value.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {

class LargeValueWriter {
 public:
  static constexpr size_t kLargeBytes = 64 * 1024;  // of memory
  static constexpr size_t kPieceBytes = 8 * 1024;

  // Null: the value takes less than `large_bytes`, or is in a form that is always small. `entry`
  // and `context` outlive the writer.
  static std::unique_ptr<LargeValueWriter> Of(const Entry& entry, const RdbContext& context,
                                              size_t large_bytes = kLargeBytes);

  virtual ~LargeValueWriter() = default;
  bool has_more() const { return has_more_; }
  // Some `bytes`, more where one element is longer, and none where nothing is left of a few
  // elements; before the first stands the type. Valid until the next call. Requires: has_more.
  std::string_view Next(size_t bytes = kPieceBytes);

 protected:
  explicit LargeValueWriter(bool compress) : out_(piece_, compress) {}
  // Writes a few elements; false: they were the last. Their bytes in memory count too: a text that
  // compresses well makes long work, and few bytes.
  virtual bool WriteSome() = 0;
  // So many elements of such a value are a few.
  static size_t FewOf(const Entry& entry, size_t elements);
  RdbWriter& out() { return out_; }

 private:
  std::string piece_;
  RdbWriter out_;
  bool is_begun_ = false;
  bool has_more_ = true;
};

}  // namespace sluice
