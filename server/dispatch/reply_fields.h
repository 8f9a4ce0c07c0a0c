// ReplyFields: an answer of named fields, as our own commands give it. A RESP3 connection gets a
// map, RESP2 the array of the values in their order.
//
//   ReplyFields fields(reply, 2);
//   fields.Integer("token", token);
//   fields.At("label").Bulk(label);
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/reply_sink.h"

namespace sluice {

class ReplyFields {
 public:
  ReplyFields(ReplySink& reply, size_t count) : reply_(reply), named_(reply.version() >= 3) {
    named_ ? reply_.Map(count) : reply_.Array(count);
  }
  // The sink, for one value.
  ReplySink& At(std::string_view name) {
    if (named_) reply_.Bulk(name);
    return reply_;
  }
  // `count` of the constructor is a promise: exactly so many fields have to follow.
  void Integer(std::string_view name, int64_t value) { At(name).Integer(value); }

 private:
  ReplySink& reply_;
  const bool named_;
};

// Nothing is there: an answer without fields.
inline void ReplyNoFields(ReplySink& reply) { ReplyFields(reply, 0); }

}  // namespace sluice
