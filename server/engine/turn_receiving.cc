// Bytes that clients send, as the host hands them in (TurnLoop, turn_loop.h): they become inputs of
// the next turn as they lie in the host's buffer, or are copied behind those that a session has
// left.
#include <algorithm>
#include <cassert>

#include "server/engine/assembly.h"
#include "server/engine/turn_loop.h"

namespace sluice {
namespace {

// The rest of a request as long as that is read to where it belongs (as Redis), a piece a turn: as
// much as there is already, between these bounds. Pieces of 64 KiB wake the loop and acknowledge so
// often that a SET of 400 MB took 1.4 times the CPU; one of 512 KiB takes about 0.4 ms to read.
constexpr size_t kReadInPlaceAt = 32 * 1024;
constexpr size_t kReadInPlaceMin = 64 * 1024;
constexpr size_t kReadInPlaceMax = 512 * 1024;

}  // namespace

void TurnLoop::Receive(Session& session, std::string_view bytes) {
  if (session.close != CloseMode::kOpen || bytes.empty()) return;
  CountReceived(session, bytes.size());
  if (session.is_raw) [[unlikely]] {
    session.pending.Append(bytes);
    if (!session.is_stalled) on_.clients.Requeue(session);
    return;
  }
  if (session.received) KeepReceived(session);
  // The bytes become an input as they lie in the host's buffer, unless the session has older ones
  // or has to wait: then they are copied. Inside a command the inputs belong to the turn around it.
  const bool may_run = !session.blocked && !session.paused;
  if (session.pending.empty() && may_run && !on_.current_client.serving_from_within()) {
    on_.inputs.list.push_back({.session = &session, .window = bytes});
    session.received = true;
    session.output.Borrow(on_.clients.spare_blocks());
    return;
  }
  session.pending.Append(bytes);
  if (session.pending.size() > on_.clients.QueryBytesMax(session)) {
    return on_.clients.CloseOverQueryLimit(session);
  }
  if (may_run) on_.clients.Requeue(session);
}

std::span<char> TurnLoop::RoomFor(Session& session) {
  if (session.close != CloseMode::kOpen || session.blocked || session.paused) return {};
  const size_t wanted = session.parser.bytes_wanted();
  if (session.received || wanted < kReadInPlaceAt) [[likely]]
    return {};
  const size_t there = session.pending.view().size();
  if (wanted <= there) return {};
  // Growing moves pages, which has its price too. So as much room is made as there are bytes
  // already: a client that announces much and sends little takes little.
  const size_t believed = std::min(wanted - there, std::max(there, kReadInPlaceMin));
  return session.pending.Room(std::min(believed, kReadInPlaceMax), believed);
}

void TurnLoop::ReceiveInPlace(Session& session, size_t bytes) {
  if (bytes == 0) return;
  CountReceived(session, bytes);
  session.pending.Lengthen(bytes);
  if (session.pending.size() > on_.clients.QueryBytesMax(session)) {
    return on_.clients.CloseOverQueryLimit(session);
  }
  on_.clients.Requeue(session);
}

void TurnLoop::CountReceived(Session& session, size_t bytes) {
  Statistics& statistics = on_.statistics;
  const bool is_master = session.kind == SessionKind::kMasterLink;
  (is_master ? statistics.bytes_from_master : statistics.bytes_in) += bytes;
  session.bytes_in += bytes;
  session.active_ms = on_.clock.now().ms();
}

// A second piece in one turn: a request may lie across both, so they have to lie together.
void TurnLoop::KeepReceived(Session& session) {
  const auto first = std::ranges::find(on_.inputs.list, &session, &Input::session);
  session.pending.Assign(first->window);
  session.received = false;
  on_.inputs.list.erase(first);
}

}  // namespace sluice
