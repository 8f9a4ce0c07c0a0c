#include "server/net/second_looks.h"

#include <utility>

namespace sluice {
namespace {

constexpr int64_t kQuietMs = 10;  // how long a connection has to be quiet before it is looked at

}  // namespace

void SecondLooks::Add(Connection& connection, int64_t now_ms) {
  connection.awaits_second_look = true;
  looks_.push_back({connection.shared_from_this(), now_ms + kQuietMs});
}

// Those nearly due are taken along, which saves setting the timer for each.
std::vector<std::shared_ptr<Connection>> SecondLooks::TakeDue(int64_t now_ms) {
  std::vector<std::shared_ptr<Connection>> due;
  if (looks_.empty() || looks_.front().due_ms > now_ms) return due;
  while (!looks_.empty() && looks_.front().due_ms <= now_ms + kQuietMs / 2) {
    Look look = std::move(looks_.front());
    looks_.pop_front();
    if (!look.connection->open()) continue;
    look.connection->awaits_second_look = false;
    if (look.connection->read_ms > look.due_ms - kQuietMs) {
      Add(*look.connection, now_ms);
    } else {
      due.push_back(std::move(look.connection));
    }
  }
  return due;
}

}  // namespace sluice
