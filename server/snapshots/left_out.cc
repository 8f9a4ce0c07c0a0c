// See left_out.h.
#include "server/snapshots/left_out.h"

#include <string_view>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

struct LeftOutRow {
  uint64_t LeftOut::*count;
  std::string_view one, many;
};
constexpr LeftOutRow kLeftOutRows[] = {
    {&LeftOut::locks, "lock", "locks"},
    {&LeftOut::tokens, "token of a lock that was given back",
     "tokens of locks that were given back"},
    {&LeftOut::limiters, "limiter", "limiters"},
    {&LeftOut::buckets, "leaky bucket", "leaky buckets"},
    {&LeftOut::policies, "policy of limits", "policies of limits"},
    {&LeftOut::ended_keys, "key whose time was over", "keys whose time was over"},
    {&LeftOut::ended_fields, "field of a hash whose time was over",
     "fields of hashes whose time was over"},
};

}  // namespace

std::vector<std::string> LeftOutTexts(const LeftOut& left) {
  std::vector<std::string> texts;
  for (const LeftOutRow& row : kLeftOutRows) {
    if (const uint64_t count = left.*row.count)
      texts.push_back(Concat(count, ' ', count == 1 ? row.one : row.many));
  }
  return texts;
}

}  // namespace sluice
