// ReplicaSink: where the answers to a replica would go. A replica is sent the stream and nothing
// else, so what makes an answer ends its connection, as in Redis: a stream with an answer in it
// could not be told from one without. Errors are counted all the same, and told.
//
// PSYNC's own words and the stream are written past it, into the session's output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "protocol/null_sink.h"
#include "protocol/reply_writer.h"

namespace sluice {

class ReplicaSink final : public NullSink {
 public:
  // `refuse`: there was an answer; called for each piece of it, with the text of an error.
  ReplicaSink(ErrorListener& errors, std::function<void(std::string_view error)> refuse)
      : errors_(errors), refuse_(std::move(refuse)) {}

  void Status(std::string_view) override { refuse_({}); }
  void Error(std::string_view text) override {
    errors_.ErrorSent(text);
    refuse_(text);
  }
  void Integer(int64_t) override { refuse_({}); }
  void Bulk(std::string_view) override { refuse_({}); }
  void Null() override { refuse_({}); }
  void NullArray() override { refuse_({}); }
  void Array(size_t) override { refuse_({}); }
  void Map(size_t) override { refuse_({}); }
  void Set(size_t) override { refuse_({}); }
  void Push(size_t) override { refuse_({}); }
  void Double(double) override { refuse_({}); }
  void PlainDouble(double) override { refuse_({}); }
  void Bool(bool) override { refuse_({}); }
  void BigNumber(std::string_view) override { refuse_({}); }
  void Verbatim(std::string_view, std::string_view) override { refuse_({}); }
  void Attribute(size_t) override { refuse_({}); }

 private:
  ErrorListener& errors_;
  const std::function<void(std::string_view error)> refuse_;
};

}  // namespace sluice
