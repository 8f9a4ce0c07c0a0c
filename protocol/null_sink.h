// NullSink: swallows replies, for CLIENT REPLY OFF and SKIP.
#pragma once

#include "protocol/reply_sink.h"

namespace sluice {

// It says that it is full, so a handler with a long answer stops at once, and speaks RESP2, for
// which the least is computed.
class NullSink : public ReplySink {
 public:
  void Status(std::string_view) override {}
  void Error(std::string_view) override {}
  void Integer(int64_t) override {}
  void Bulk(std::string_view) override {}
  void Null() override {}
  void NullArray() override {}
  void Array(size_t) override {}
  void Map(size_t) override {}
  void Set(size_t) override {}
  void Push(size_t) override {}
  void Double(double) override {}
  void PlainDouble(double) override {}
  void Bool(bool) override {}
  void BigNumber(std::string_view) override {}
  void Verbatim(std::string_view, std::string_view) override {}
  void Attribute(size_t) override {}
  int version() const override { return 2; }
  bool full() const override { return true; }
};

}  // namespace sluice
