// See ready_clients.h.
#include "server/net/ready_clients.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/observe/statistics.h"

namespace sluice {
namespace {

// Bytes that one turn reads at most, and one client of it. Few enough that running them takes well
// under a millisecond, enough for fifty clients' pipelines.
constexpr size_t kTurnBytes = 128 * 1024;
constexpr size_t kReadBytes = 16 * 1024;
// Connections whose peers have closed them are taken leave of in slices: 5 to 10 µs each.
constexpr int kEndedPerTurn = 100;
// The head of a record with a handshake in it.
constexpr char kTlsBegin[] = {0x16, 0x03};

bool IsTlsBegin(std::span<const char> bytes) {
  return bytes.size() >= 2 && bytes[0] == kTlsBegin[0] && bytes[1] == kTlsBegin[1];
}

}  // namespace

ReadyClients::ReadyClients() { buffers_.emplace_back(new char[kTurnBytes]); }

void ReadyClients::Add(SpaceConnection& connection) {
  if (connection.ready) return;
  connection.ready = true;
  ready_.emplace_back(&connection);
}

void ReadyClients::Read(size_t depth) {
  while (buffers_.size() <= depth) buffers_.emplace_back(new char[kTurnBytes]);
  char* const buffer = buffers_[depth].get();
  size_t used = 0;
  int ended = 0;
  reading_.swap(ready_);
  for (boost::intrusive_ptr<SpaceConnection>& waiting : reading_) {
    SpaceConnection& connection = *waiting;
    if (!connection.open()) continue;
    if (connection.ended() && ++ended > kEndedPerTurn) {
      ready_.push_back(std::move(waiting));
      continue;
    }
    const Engine& engine = connection.space->engine();
    Session* const session = engine.Find(connection.session);
    if (!session) [[unlikely]] {
      connection.ready = false;
      continue;
    }
    if (used + kReadBytes > kTurnBytes || (depth > 0 && !engine.MayTouch(connection.session)) ||
        session->has_backlog()) {
      if (engine.IsStalled(connection.session)) {
        connection.ready = false;  // Host::ReadOn brings it back
      } else {
        ready_.push_back(std::move(waiting));
      }
      continue;
    }
    size_t got = 0;
    const bool more = ReadOne(connection, *session, {buffer + used, kReadBytes}, got);
    used += got;
    if (more) {
      have_more_.push_back(std::move(waiting));
    } else {
      connection.ready = false;
    }
  }
  std::ranges::move(have_more_, std::back_inserter(ready_));
  have_more_.clear();
  reading_.clear();
}

// Whether there may be more to read at once.
bool ReadyClients::ReadOne(SpaceConnection& connection, Session& session, std::span<char> buffer,
                           size_t& got) {
  Space& space = *connection.space;
  Engine& engine = space.engine();
  const std::span<char> room = engine.RoomFor(session);
  const std::span<char> into = room.empty() ? buffer : room;
  ++engine.statistics().reads;
  if (spaces_) [[unlikely]]
    spaces_->Due(space);
  const ssize_t result = connection.Read(into);
  if (result < 0) {
    space.Drop(connection.session);
    return false;
  }
  got = static_cast<size_t>(result);
  if (room.empty() && IsTlsBegin({into.data(), got}) && is_lost_(connection)) [[unlikely]] {
    space.Drop(connection.session);
    return false;
  }
  if (room.empty()) {
    engine.Receive(session, {into.data(), got});
  } else {
    engine.ReceiveInPlace(session, got);
  }
  return connection.MayHaveMore(got, into.size());
}

}  // namespace sluice
