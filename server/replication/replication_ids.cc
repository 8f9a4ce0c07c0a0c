// See replication_ids.h.
#include "server/replication/replication_ids.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/text/hex.h"
#include "protocol/text/letters.h"

namespace sluice {
namespace {

constexpr int64_t kNoSecondEnd = -1;

ReplicationId NoId() { return *ReplicationId::Of(std::string(ReplicationId::kBytes, '0')); }

// As Redis compares ids: C strings, of either case. Ours have no NUL in them.
bool IsId(std::string_view asked, std::string_view ours) {
  return IsSameInAnyCase(asked.substr(0, asked.find('\0')), ours);
}

}  // namespace

ReplicationId ReplicationIdOf(std::span<const uint8_t, ReplicationId::kBytes / 2> random) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const uint8_t byte : random) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return *ReplicationId::Of(id);
}

ReplicationIds::ReplicationIds(const ReplicationId& id)
    : id_(id), second_(NoId()), second_end_(kNoSecondEnd) {}

void ReplicationIds::Part(const ReplicationId& new_id, int64_t end) {
  assert(end >= 0);
  second_ = std::exchange(id_, new_id);
  // A replica that has all up to there asks for this one next, and may.
  second_end_ = end + 1;
}

void ReplicationIds::ForgetSecond() {
  second_ = NoId();
  second_end_ = kNoSecondEnd;
}

void ReplicationIds::Replace(const ReplicationId& id) {
  id_ = id;
  ForgetSecond();
}

ResyncAnswer AnswerResync(const ReplicationIds& ids, const Backlog* backlog, int64_t end,
                          std::string_view id, int64_t offset) {
  const bool is_first = IsId(id, ids.id().text());
  const bool is_second = !is_first && IsId(id, ids.second().text());
  if (!is_first && !(is_second && offset <= ids.second_end())) {
    if (id.starts_with('?')) return ResyncAnswer::kAskedForAll;
    return is_second ? ResyncAnswer::kBeyondSecond : ResyncAnswer::kOtherHistory;
  }
  if (backlog && backlog->Has(offset)) return ResyncAnswer::kContinue;
  return offset > end ? ResyncAnswer::kAheadOfTheStream : ResyncAnswer::kNotInBacklog;
}

}  // namespace sluice
