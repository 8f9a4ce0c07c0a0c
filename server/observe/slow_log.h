// SlowLog: what SLOWLOG shows. An entry is a command that took at least slowlog-log-slower-than,
// with its arguments cut as Redis cuts them, to slowlog-max-argc, so that its memory is bounded;
// the newest slowlog-max-len are kept. CommandTimer measures and decides.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/args.h"
#include "server/core/lazy_deque.h"

namespace sluice {

// `micros`: how long the command ran; waiting is not part of it. Arguments are copies, cut already.
struct SlowEntry {
  int64_t id = 0;
  int64_t unix_s = 0;
  int64_t micros = 0;
  std::vector<std::string> args;
  size_t args_given = 0;  // before they were cut
  std::string address;    // "?:0" where no client stands behind it
  std::string client_name;
};

class SlowLog {
 public:
  // An entry keeps so many in Redis 7.0, which has no option for it.
  static constexpr size_t kArgsMaxOfRedis7 = 32;

  struct Client {
    std::string_view address;  // empty: no client stands behind it
    std::string_view name;
  };
  // `secret`: indexes of arguments that no client may see. Copies what it keeps.
  void Add(const Client& client, Args args, std::span<const size_t> secret, int64_t unix_s,
           int64_t micros);

  // The oldest entries go first; ids go on growing, also while nothing may be kept.
  void set_entries_max(size_t count);
  // An entry keeps so many; if there are more, the last one kept says how many. Requires: above 1.
  void set_args_max(size_t count) { args_max_ = count; }
  size_t args_max() const { return args_max_; }
  void Clear() {
    entries_.clear();
    bytes_ = 0;
  }
  // The newest first.
  const LazyDeque<SlowEntry>& entries() const { return entries_; }
  size_t MemoryBytes() const { return bytes_; }

 private:
  static size_t BytesOf(const SlowEntry& entry);
  void Push(SlowEntry entry);

  LazyDeque<SlowEntry> entries_;
  size_t entries_max_ = 0;
  size_t args_max_ = kArgsMaxOfRedis7;
  size_t bytes_ = 0;  // BytesOf of all entries
  int64_t next_id_ = 0;
};

}  // namespace sluice
