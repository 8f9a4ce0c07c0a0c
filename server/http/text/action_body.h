// The body of a request that changes something: one flat JSON object, read strictly.
//
//   {"db":0,"key":"ZG9vcg","token":1800000000001}
//
// `key` is the id of a name (shown_name.h), `token` one of LOCK.BREAK. Nothing is escaped in it and
// nothing nested, as none of its values needs that; so what is not plainly such an object is none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"

namespace sluice {

struct ActionBody {
  int db = 0;
  std::string key;    // its bytes
  int64_t token = 0;  // 0: none is said
};

// A sentence, or empty.
Fault ReadActionBody(std::string_view json, int databases, ActionBody& body);

}  // namespace sluice
