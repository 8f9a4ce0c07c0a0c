// AccessLog: what users were refused lately, for ACL LOG. Refusals that are alike and follow each
// other within a minute are one entry with a count.
//
// Bounded: acllog-max-len entries, and of the words of a stranger kWordBytesMax bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/access/verdict.h"
#include "server/core/lazy_deque.h"

namespace sluice {

// Where a request came from: a client itself, its transaction, a script that it runs.
enum class AccessContext : uint8_t { kTopLevel, kMulti, kScript };

class AccessLog {
 public:
  static constexpr size_t kWordBytesMax = 1024;

  struct Entry {
    uint64_t count = 1;
    Denial reason = Denial::kCommand;
    AccessContext context = AccessContext::kTopLevel;
    std::string object;  // the name of a command, a key or a channel
    std::string user;
    std::string client;  // its line of CLIENT LIST, when it was refused last
    int64_t at_ms = 0;   // engine time of the last one
  };

  void set_entries_max(size_t entries);  // the oldest beyond go
  void Add(Entry entry);
  void Reset() { entries_.clear(); }
  void TimeShifted(int64_t ms);

  // The latest first.
  const LazyDeque<Entry>& entries() const { return entries_; }

 private:
  LazyDeque<Entry> entries_;  // takes no memory while it is empty
  size_t entries_max_ = 128;
};

}  // namespace sluice
