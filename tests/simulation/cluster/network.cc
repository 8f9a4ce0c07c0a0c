// See network.h.
#include "tests/simulation/cluster/network.h"

#include <algorithm>

namespace sluice::cluster {
namespace {

constexpr int64_t kSentAgain = 20 * kMs;  // TCP's next attempt where nothing comes through

}  // namespace

int64_t Network::DelayBetween(Site from, Site to) {
  return is_cut(from, to) ? -1 : time_.PickSpan(pace_.delay_min, pace_.delay_max);
}

Network::Handle Network::Connect(Site caller, End& caller_end, Site called, End& called_end) {
  auto connection = std::make_shared<Connection>();
  connection->half(Side::kCaller) = {.site = caller, .end = &caller_end};
  connection->half(Side::kCalled) = {.site = called, .end = &called_end};
  std::erase_if(standing_, [](const auto& one) { return one.expired(); });
  standing_.push_back(connection);
  return connection;
}

void Network::Say(const Handle& connection, Side side, std::string_view bytes) {
  if (bytes.empty()) return;
  if (connection->is_lost_) return HearOfLoss(connection, side);
  Put(connection, Connection::Other(side), {0, std::string(bytes)});
}

void Network::Close(const Handle& connection, Side side) {
  Detach(connection, side);
  if (!connection->is_lost_) Put(connection, Connection::Other(side), {0, "", true});
}

void Network::Detach(const Handle& connection, Side side) {
  connection->half(side).end = nullptr;
  connection->half(side).coming.clear();
}

void Network::Break(const Handle& connection) {
  connection->is_lost_ = true;
  for (const Side side : {Side::kCaller, Side::kCalled}) {
    connection->half(side).coming.clear();
    if (!time_.OneIn(4)) HearOfLoss(connection, side);
  }
}

void Network::HearOfLoss(const Handle& connection, Side side) {
  time_.After(time_.PickSpan(pace_.delay_min, 100 * kMs), [connection, side] {
    if (End* const end = std::exchange(connection->half(side).end, nullptr)) end->Ended();
  });
}

void Network::Put(const Handle& connection, Side to, Connection::Chunk chunk) {
  Connection::Half& half = connection->half(to);
  if (!half.end) {
    // Nobody knows this connection there, if somebody is there.
    if (time_.OneIn(2)) HearOfLoss(connection, Connection::Other(to));
    return;
  }
  chunk.moment = time_.now() + time_.PickSpan(pace_.delay_min, pace_.delay_max);
  if (!half.coming.empty()) chunk.moment = std::max(chunk.moment, half.coming.back().moment);
  half.coming.push_back(std::move(chunk));
  PlanDelivery(connection, to);
}

void Network::PlanDelivery(const Handle& connection, Side to) {
  Connection::Half& half = connection->half(to);
  if (half.is_delivery_planned || half.coming.empty()) return;
  half.is_delivery_planned = true;
  time_.At(half.coming.front().moment, [this, connection, to] {
    connection->half(to).is_delivery_planned = false;
    Deliver(connection, to);
  });
}

void Network::Deliver(const Handle& connection, Side to) {
  Connection::Half& half = connection->half(to);
  if (!half.end || half.coming.empty()) return;
  Connection::Chunk& first = half.coming.front();
  if (is_cut(connection->site_of(Connection::Other(to)), half.site)) {
    first.moment = time_.now() + kSentAgain;
  } else if (first.is_end) {
    half.coming.clear();
    std::exchange(half.end, nullptr)->Ended();
  } else if (first.bytes.size() > 1 && time_.OneIn(4)) {
    const auto all = static_cast<int64_t>(first.bytes.size());
    const auto part = static_cast<size_t>(time_.Pick(1, all - 1));
    const std::string now = first.bytes.substr(0, part);
    first.bytes.erase(0, part);
    first.moment = time_.now() + time_.PickSpan(1, pace_.delay_max);
    half.end->Arrived(now);
  } else {
    const std::string bytes = std::move(first.bytes);
    half.coming.pop_front();
    half.end->Arrived(bytes);
  }
  PlanDelivery(connection, to);
}

Network::Handle Network::Any() {
  std::erase_if(standing_, [](const auto& one) {
    const Handle connection = one.lock();
    return !connection || connection->is_lost_;
  });
  if (standing_.empty()) return nullptr;
  const auto last = static_cast<int64_t>(standing_.size()) - 1;
  return standing_[static_cast<size_t>(time_.Pick(0, last))].lock();
}

}  // namespace sluice::cluster
