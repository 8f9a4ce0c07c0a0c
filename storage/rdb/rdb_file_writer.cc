// See rdb_file_writer.h. A short value is gathered with others into a piece; a long one goes to
// the sink by itself, uncopied.
#include "storage/rdb/rdb_file_writer.h"

#include <algorithm>
#include <cassert>

#include "protocol/text/free_memory.h"
#include "storage/keyspace/database.h"
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
  if (!context_.for_redis) Aux(kRdbRelativeField, "1");
}

void RdbFileWriter::Aux(std::string_view name, std::string_view value) {
  RdbWriter writer(out(), context_.compress);
  writer.Opcode(RdbOpcode::kAux);
  writer.String(name);
  writer.String(value);
  HandIfFull();
}

void RdbFileWriter::Function(std::string_view code) {
  RdbWriter writer(out(), context_.compress);
  writer.Opcode(RdbOpcode::kFunction);
  writer.String(code);
  HandIfFull();
}

void RdbFileWriter::BeginDatabase(uint64_t index, uint64_t keys, uint64_t with_deadline) {
  ContinueDatabase(index);
  RdbWriter writer(out(), context_.compress);
  writer.Opcode(RdbOpcode::kSizes);
  writer.Length(keys);
  writer.Length(with_deadline);
}

void RdbFileWriter::ContinueDatabase(uint64_t index) {
  RdbWriter writer(out(), context_.compress);
  writer.Opcode(RdbOpcode::kDatabase);
  writer.Length(index);
}

void RdbFileWriter::WriteDeadline(const Deadline& deadline) {
  if (deadline.none()) return;
  const int64_t unix_ms = std::max<int64_t>(deadline.UnixMs(context_.now), 0);
  RdbWriter writer(out());
  // A relative one beyond all time is none that a reader would take for one.
  const bool is_marked = deadline.kind == Deadline::Kind::kUnix || unix_ms > kRdbMomentMsMax;
  if (is_marked && !context_.for_redis) {
    writer.Opcode(RdbOpcode::kDeadlineSeconds);
    writer.Raw(std::string_view("\0\0\0\0", 4));
  }
  writer.Opcode(RdbOpcode::kDeadlineMs);
  writer.Int64(unix_ms);
}

void RdbFileWriter::Key(const Entry& entry) {
  if (!ok_) return;
  WriteRdbFileValue(entry, context_, value_);
  WriteDeadline(entry.deadline());
  WriteUse(entry);
  WriteHead(entry, value_);
  const std::string_view value = std::string_view(value_).substr(1);
  if (must_wait() || value.size() <= kPieceBytes) {
    out().append(value);
    HandIfFull();
  } else {
    Hand(buffer_);
    buffer_.clear();
    Hand(value);
  }
  ClearKeeping(value_, kScratchKept);
}

// As Redis does: where the policy of eviction asks for it.
void RdbFileWriter::WriteUse(const Entry& entry) {
  RdbWriter writer(out(), context_.compress);
  if (context_.use == RdbContext::Use::kIdle) {
    const int64_t idle_s =
        (context_.access_clock - entry.access_clock()) & Database::kAccessClockMask;
    writer.Opcode(RdbOpcode::kIdle);
    writer.Length(static_cast<uint64_t>(idle_s));
  } else if (context_.use == RdbContext::Use::kFrequency) {
    const uint32_t counter =
        context_.access_count->CounterAt(entry.access_clock(), context_.access_clock);
    writer.Opcode(RdbOpcode::kFrequency);
    writer.Raw(std::string(1, static_cast<char>(counter)));
  }
}

// The type, with which the value begins, and the key.
void RdbFileWriter::WriteHead(const Entry& entry, std::string_view value) {
  out().push_back(value[0]);
  RdbWriter(out(), context_.compress).String(entry.key());
}

void RdbFileWriter::BeginKey(const Entry& entry, std::string_view piece) {
  assert(!must_wait());
  WriteDeadline(entry.deadline());
  WriteUse(entry);
  WriteHead(entry, piece);
  is_key_open_ = true;
  Piece(piece.substr(1));
}

void RdbFileWriter::Piece(std::string_view piece) {
  assert(is_key_open_);
  buffer_.append(piece);
  HandIfFull();
}

void RdbFileWriter::EndKey() { is_key_open_ = false; }

std::string& RdbFileWriter::out() {
  if (!must_wait()) return buffer_;
  if (waiting_.empty() || waiting_.back().size() >= kPieceBytes) {
    if (!waiting_.empty()) waiting_full_bytes_ += waiting_.back().size();
    waiting_.emplace_back();
  }
  return waiting_.back();
}

bool RdbFileWriter::HandWaiting() {
  if (is_key_open_ || waiting_.empty()) return false;
  Hand(buffer_);
  buffer_.clear();
  const std::string_view block = waiting_.front();
  const std::string_view piece = block.substr(waiting_handed_, kPieceBytes);
  Hand(piece);
  waiting_handed_ += piece.size();
  if (waiting_handed_ == block.size()) {
    if (waiting_.size() > 1) waiting_full_bytes_ -= block.size();
    waiting_.pop_front();
    waiting_handed_ = 0;
  }
  return true;
}

bool RdbFileWriter::End() {
  while (HandWaiting()) continue;
  assert(!is_key_open_ || !ok_);
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
