// See access_log.h.
#include "server/access/access_log.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// As Redis: only so many of the latest entries are compared with a new one.
constexpr ptrdiff_t kCompared = 10;
constexpr int64_t kTogetherMs = 60'000;

bool IsLike(const AccessLog::Entry& a, const AccessLog::Entry& b) {
  const int64_t apart_ms = a.at_ms > b.at_ms ? a.at_ms - b.at_ms : b.at_ms - a.at_ms;
  return a.reason == b.reason && a.context == b.context && apart_ms <= kTogetherMs &&
         a.object == b.object && a.user == b.user;
}

}  // namespace

void AccessLog::set_entries_max(size_t entries) {
  entries_max_ = entries;
  while (entries_.size() > entries_max_) entries_.pop_back();
}

// An entry that is counted up becomes the latest.
void AccessLog::Add(Entry entry) {
  for (std::string* const word : {&entry.object, &entry.user}) {
    if (word->size() > kWordBytesMax) word->resize(kWordBytesMax);
  }
  const auto end = entries_.begin() + std::min<ptrdiff_t>(kCompared, std::ssize(entries_));
  const auto like =
      std::find_if(entries_.begin(), end, [&](const Entry& other) { return IsLike(other, entry); });
  if (like != end) {
    entry.count += like->count;
    entries_.erase(like);
  }
  entries_.push_front(std::move(entry));
  while (entries_.size() > entries_max_) entries_.pop_back();
}

void AccessLog::TimeShifted(int64_t ms) {
  for (Entry& entry : entries_) entry.at_ms += ms;
}

}  // namespace sluice
