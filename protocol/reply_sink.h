// ReplySink: where a command puts its answer. ReplyWriter turns it into RESP bytes for a client;
// a script's sink pushes it onto the Lua stack; a host program's sink builds a value. A handler
// states what it means (Map, Set, Double, Null ...); how RESP2 and RESP3 show it is the sink's
// work.
//
// An aggregate announces its length and then as many replies follow (for a Map: twice as many).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/error_text.h"

namespace sluice {

//   sink.Map(2);
//   sink.Status("a"), sink.Integer(1);
//   sink.Status("b"), sink.Integer(2);
//
//   RESP3: %2 +a :1 +b :2      RESP2: *4 +a :1 +b :2      Lua: {{ok = "a"}, 1, {ok = "b"}, 2}
class ReplySink {
 public:
  virtual ~ReplySink() = default;

  virtual void Status(std::string_view text) = 0;  // +text; one line, no CR or LF in it
  // -text; `text` begins with its code ("ERR ..."). CR and LF at its end are dropped, others are
  // sent as spaces, as Redis does.
  virtual void Error(std::string_view text) = 0;
  virtual void Integer(int64_t value) = 0;
  virtual void Bulk(std::string_view bytes) = 0;
  virtual void Null() = 0;       // RESP2: null bulk ($-1), RESP3: _
  virtual void NullArray() = 0;  // RESP2: null array (*-1), RESP3: _
  virtual void Array(size_t length) = 0;
  virtual void Map(size_t pairs) = 0;     // RESP2: array of 2 x pairs
  virtual void Set(size_t length) = 0;    // RESP2: array
  virtual void Push(size_t length) = 0;   // RESP2: array
  virtual void Double(double value) = 0;  // RESP2: bulk of its text
  // The same with all digits and no exponent (coordinates): HumanLongDoubleText.
  virtual void PlainDouble(double value) = 0;
  virtual void Bool(bool value) = 0;                                           // RESP2: 1 or 0
  virtual void BigNumber(std::string_view digits) = 0;                         // RESP2: bulk
  virtual void Verbatim(std::string_view bytes, std::string_view format) = 0;  // RESP2: bulk
  // Attributes before the next reply; RESP2 clients don't get them (nor may the caller then send
  // the pairs: ask version() first).
  virtual void Attribute(size_t pairs) = 0;
  // 2 or 3: for the few answers whose content, not only form, depends on it.
  virtual int version() const = 0;
  // Nothing more is taken in: too much was answered already, or no client is going to read it. A
  // handler whose answer no data bounds asks after each element and stops.
  virtual bool full() const { return false; }

  // An array of integers.
  virtual void Integers(std::span<const int64_t> values) {
    Array(values.size());
    for (const int64_t value : values) Integer(value);
  }
  void Ok() { Status("OK"); }
  void Error(ErrorCode code) { Error(ErrorText(code)); }
};

}  // namespace sluice
