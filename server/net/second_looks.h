// SecondLooks: connections that were read until they were empty and have been quiet since.
// Readiness comes in edges, so that the end of a stream that came with its last data is found only
// by reading once more. Who sends something in between has found it by itself, and is not looked
// at.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "server/net/connection.h"

namespace sluice {

class SecondLooks {
 public:
  // Precondition: !connection.awaits_second_look. Times are engine times.
  void Add(Connection& connection, int64_t now_ms);
  // Those whose time has come: they are to be read.
  std::vector<std::shared_ptr<Connection>> TakeDue(int64_t now_ms);
  bool empty() const { return looks_.empty(); }
  int64_t next_ms() const { return looks_.front().due_ms; }  // precondition: not empty

 private:
  struct Look {
    std::shared_ptr<Connection> connection;
    int64_t due_ms;
  };
  std::deque<Look> looks_;  // oldest first
};

}  // namespace sluice
