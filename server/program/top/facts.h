// Facts on a server, as `sluice top` has asked for them: plain values, so that what is drawn can be
// tested without a server. All texts are the server's and may be any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/program/top/info_fields.h"

namespace sluice {

struct WaiterFacts {
  std::string owner;
  int64_t waited_ms = 0;
  int64_t left_ms = 0;
};

struct LockFacts {
  std::string name;
  bool is_waited_for = false;
  bool is_known = false;  // false: all below is missing
  std::string obstacle;   // why it cannot be known; empty: the server has not been asked yet
  std::string mode;
  std::string owner;  // of the first holder
  std::string label;
  int64_t token = 0;  // of the first holder
  int64_t holders = 0;
  int64_t lease_ms = 0;  // of the holder whose lease ends first; -1: it is bound to a connection
  int64_t waiters = 0;
  std::vector<WaiterFacts> first_waiters;  // as many as are shown

  int64_t longest_wait_ms() const {
    return first_waiters.empty() ? 0 : first_waiters.front().waited_ms;
  }
};

struct SlowFacts {
  int64_t unix_s = 0;
  int64_t micros = 0;
  std::vector<std::string> words;
};

struct TopFacts {
  std::string address;
  int64_t at_ms = 0;  // of a steady clock: when it was asked
  InfoFields info;
  // Those that are waited for come first, the longest wait before all others; then by their names.
  std::vector<LockFacts> locks;
  bool is_listing = false;      // the server has not told all names yet
  bool has_all_locks = true;    // false: it has not, or they are too many
  std::vector<SlowFacts> slow;  // newest first
  std::string note;             // what the server does not tell, and why; empty: it tells all
};

}  // namespace sluice
