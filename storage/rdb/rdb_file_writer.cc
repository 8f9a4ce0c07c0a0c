// See rdb_file_writer.h.
#include "storage/rdb/rdb_file_writer.h"

#include <algorithm>

#include "storage/rdb/crc64.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_moment.h"
#include "storage/rdb/rdb_writer.h"

namespace sluice {
namespace {

// A scratch that one large value has made larger is given back.
constexpr size_t kScratchKept = 1024 * 1024;

}  // namespace

RdbFileWriter::RdbFileWriter(ByteSink& sink, const RdbContext& context, bool checksum)
    : sink_(sink), context_(context), checksum_(checksum), buffer_("REDIS0010") {
  static_assert(kRdbVersion == 10);
  Aux(kRdbRelativeField, "1");
}

void RdbFileWriter::Aux(std::string_view name, std::string_view value) {
  RdbWriter writer(buffer_, context_.compress);
  writer.Opcode(RdbOpcode::kAux);
  writer.String(name);
  writer.String(value);
  HandIfFull();
}

void RdbFileWriter::Function(std::string_view code) {
  RdbWriter writer(buffer_, context_.compress);
  writer.Opcode(RdbOpcode::kFunction);
  writer.String(code);
  HandIfFull();
}

void RdbFileWriter::BeginDatabase(uint64_t index, uint64_t keys, uint64_t with_deadline) {
  ContinueDatabase(index);
  RdbWriter writer(buffer_, context_.compress);
  writer.Opcode(RdbOpcode::kSizes);
  writer.Length(keys);
  writer.Length(with_deadline);
}

void RdbFileWriter::ContinueDatabase(uint64_t index) {
  RdbWriter writer(buffer_, context_.compress);
  writer.Opcode(RdbOpcode::kDatabase);
  writer.Length(index);
}

void RdbFileWriter::WriteDeadline(const Deadline& deadline) {
  if (deadline.none()) return;
  const int64_t unix_ms = std::max<int64_t>(deadline.UnixMs(context_.now), 0);
  RdbWriter writer(buffer_);
  // A relative one beyond all time is none that a reader would take for one.
  if (deadline.kind == Deadline::Kind::kUnix || unix_ms > kRdbMomentMsMax) {
    writer.Opcode(RdbOpcode::kDeadlineSeconds);
    writer.Raw(std::string_view("\0\0\0\0", 4));
  }
  writer.Opcode(RdbOpcode::kDeadlineMs);
  writer.Int64(unix_ms);
}

void RdbFileWriter::Key(const Entry& entry) {
  if (!ok_) return;
  value_.clear();
  WriteRdbFileValue(entry, context_, value_);
  WriteDeadline(entry.deadline());
  const std::string_view value = value_;
  buffer_.push_back(value[0]);  // the type
  RdbWriter(buffer_, context_.compress).String(entry.key());
  if (value.size() <= kPieceBytes) {
    buffer_.append(value.substr(1));
    return HandIfFull();
  }
  Hand(buffer_);
  buffer_.clear();
  Hand(value.substr(1));
  if (value_.capacity() > kScratchKept) value_ = {};
}

bool RdbFileWriter::End() {
  RdbWriter(buffer_).Opcode(RdbOpcode::kEnd);
  Hand(buffer_);
  buffer_.clear();
  std::string footer;
  RdbWriter(footer).Int64(static_cast<int64_t>(crc_));
  Hand(footer);
  return ok_;
}

void RdbFileWriter::HandIfFull() {
  if (buffer_.size() < kPieceBytes) return;
  Hand(buffer_);
  buffer_.clear();
}

void RdbFileWriter::Hand(std::string_view bytes) {
  for (; ok_ && !bytes.empty(); bytes.remove_prefix(std::min(kPieceBytes, bytes.size()))) {
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    if (checksum_) crc_ = Crc64(piece, crc_);
    ok_ = sink_.Write(piece);
    if (ok_) bytes_written_ += piece.size();
  }
}

}  // namespace sluice
