// ReplyWriter: a ReplySink that appends RESP2 or RESP3 to an OutputBuffer.
#pragma once

#include "protocol/output_buffer.h"
#include "protocol/reply_sink.h"

namespace sluice {

// Told of every error line that is written, for statistics.
class ErrorListener {
 public:
  virtual ~ErrorListener() = default;
  virtual void ErrorSent(std::string_view text) = 0;
};

// Owns nothing. One for each client; the version is set by HELLO and holds from the next reply on.
class ReplyWriter final : public ReplySink {
 public:
  // `out` must outlive the writer.
  explicit ReplyWriter(OutputBuffer& out) : out_(&out) {}

  void set_version(int version) { version_ = version; }  // 2 or 3
  int version() const override { return version_; }
  bool full() const override { return out_->overflowed(); }
  void set_error_listener(ErrorListener* listener) { listener_ = listener; }

  void Status(std::string_view text) override;
  void Error(std::string_view text) override;
  using ReplySink::Error;
  void Integer(int64_t value) override;
  void Integers(std::span<const int64_t> values) override;
  void Bulk(std::string_view bytes) override;
  void Null() override;
  void NullArray() override;
  void Array(size_t length) override;
  void Map(size_t pairs) override;
  void Set(size_t length) override;
  void Push(size_t length) override;
  void Double(double value) override;
  void PlainDouble(double value) override;
  void Bool(bool value) override;
  void BigNumber(std::string_view digits) override;
  void Verbatim(std::string_view bytes, std::string_view format) override;
  void Attribute(size_t pairs) override;

 private:
  void Header(char kind, int64_t number);       // e.g. "*3\r\n"
  void Line(char kind, std::string_view text);  // e.g. "+PONG\r\n"
  void AnyBulk(std::string_view bytes);

  OutputBuffer* out_;
  ErrorListener* listener_ = nullptr;
  int version_ = 2;
};

}  // namespace sluice
