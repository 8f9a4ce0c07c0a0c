// See space.h. Any call of the engine may close any connection: a SessionId is looked up again
// after whatever may have done so, and broken connections are dropped at fixed moments
// (DropBroken).
#include "server/spaces/space.h"

#include <utility>

#include "server/config/debug_settings.h"
#include "server/observe/statistics.h"
#include "storage/memory/block_size.h"

namespace sluice {
namespace {

// A connection's places in the list of a space and in the poller's table.
constexpr size_t kPlacesBytes = 24;

}  // namespace

void Space::GiveUpLinks() {
  for (LinkListener* const listener : opening_) owner_.GiveUpLink(*listener);
  opening_.clear();
}

void Space::DropEngine() {
  GiveUpLinks();
  if (engine_) background().Finish();  // the workers' results are for the engine that goes
  engine_.reset();
  engine_lives_.reset();
  connections_.clear();
  broken_.clear();
}

void Space::MakeEngine(Config& config, Clock& clock, const CommandTable& commands,
                       const EngineOptions& options) {
  DropEngine();
  making_ = {.config = &config, .clock = &clock, .commands = &commands};
  Make(options);
}

void Space::MakeEngineAnew() {
  const EngineOptions options = engine_->options();
  DropEngine();
  Make(options);
}

void Space::Make(const EngineOptions& options) {
  Host& host = *this;
  engine_ =
      std::make_unique<Engine>(*making_.config, *making_.clock, host, *making_.commands, options);
  engine_lives_ = std::make_shared<Space*>(this);
}

// --- connections

Session* Space::Admit(boost::intrusive_ptr<ClientConnection> connection, Peer peer) {
  if (!connection->open()) return nullptr;
  connection->session = engine_->Open(std::move(peer));
  connection->space = this;
  connection->ForgetOutput();
  const uint32_t slot = connection->session.slot;
  if (slot >= connections_.size()) connections_.resize(slot + 1);
  connections_[slot] = std::move(connection);
  Session* const session = engine_->Find(connections_[slot]->session);
  if (session) {
    session->host_bytes =
        static_cast<uint32_t>(BlockSize(connections_[slot]->bytes()) + kPlacesBytes);
  }
  return session;
}

boost::intrusive_ptr<ClientConnection> Space::Release(SessionId id) {
  if (!engine_->Find(id)) return nullptr;
  engine_->Drop(id);
  return std::exchange(connections_[id.slot], nullptr);
}

void Space::Drop(SessionId id) {
  engine_->Drop(id);
  Closed(id);
}

void Space::DropAllBroken() {
  for (const SessionId id : std::exchange(broken_, {})) {
    if (!engine_->Find(id)) continue;
    if (engine_->MayTouch(id)) {
      Drop(id);
    } else {
      broken_.push_back(id);
    }
  }
}

void Space::CloseConnections() {
  GiveUpLinks();
  for (const auto& connection : connections_) {
    if (connection) connection->Close();
  }
  connections_.clear();
  owner_.ClientLeft();
}

void Space::Writable(ClientConnection& connection) {
  Session* const session = engine_->Find(connection.session);
  if (!session) return;
  Send(*session);
  DropBroken();
  engine_->Sent(connection.session);
}

// --- Host

void Space::Send(Session& session) {
  if (session.id.slot >= connections_.size()) return;
  ClientConnection* const connection = connections_[session.id.slot].get();
  if (!connection || session.output.sendable() == 0) return;
  const size_t before = session.output.bytes();
  ++engine_->statistics().writes;
  if (!connection->Write(session.output)) {
    broken_.push_back(session.id);
    return;
  }
  Statistics& statistics = engine_->statistics();
  const bool is_replica = session.kind == SessionKind::kReplica;
  (is_replica ? statistics.bytes_to_replicas : statistics.bytes_out) +=
      before - session.output.bytes();
  if (session.output.empty()) {
    if (!engine_->part<DebugSettings>().keeps_reply_buffers) [[likely]]
      session.output.ReleaseMemory(engine_->spare_blocks());
  } else if (session.output.sendable() > 0) {
    connection->AwaitWritable();
  }
}

void Space::Closed(SessionId id) {
  if (id.slot >= connections_.size()) return;  // it was given up
  if (boost::intrusive_ptr<ClientConnection> connection =
          std::exchange(connections_[id.slot], nullptr)) {
    connection->Close();
  }
  owner_.ClientLeft();
}

// An engine that is gone by then is not called.
void Space::CallAfter(int64_t real_ms, std::function<void()> call) {
  owner_.CallAfter(real_ms, [lives = std::weak_ptr(engine_lives_), call = std::move(call)] {
    const std::shared_ptr<Space*> space = lives.lock();
    if (!space) return;
    call();
    (*space)->owner_.WorkCame(**space);
  });
}

Fault Space::OpenLink(const LinkTarget& target, LinkListener& listener) {
  Fault fault = owner_.OpenLink(*this, target, listener);
  if (fault.empty()) opening_.push_back(&listener);
  return fault;
}

void Space::CloseLink(LinkListener& listener) {
  std::erase(opening_, &listener);
  owner_.GiveUpLink(listener);
}

void Space::LinkOpened(boost::intrusive_ptr<ClientConnection> connection, Peer peer,
                       LinkListener& listener) {
  std::erase(opening_, &listener);
  connection->KeepAlive(making_.config->settings().tcp_keepalive);
  const Session* const session = Admit(std::move(connection), std::move(peer));
  if (!session) return engine_->LinkFailed(listener, "the connection ended");
  engine_->LinkOpened(session->id, listener);
}

void Space::LinkFailed(LinkListener& listener, std::string_view why) {
  std::erase(opening_, &listener);
  engine_->LinkFailed(listener, why);
}

void Space::ReadOn(Session& session) {
  if (session.id.slot >= connections_.size()) return;
  if (ClientConnection* const connection = connections_[session.id.slot].get())
    connection->ReadOn();
}

void Space::WatchPeer(Session& session, int64_t timeout_ms) {
  if (session.id.slot >= connections_.size()) return;
  ClientConnection* const connection = connections_[session.id.slot].get();
  if (!connection) return;
  connection->WatchPeer(timeout_ms);
  if (timeout_ms == 0) connection->KeepAlive(making_.config->settings().tcp_keepalive);
}

void Space::GatherPackets(Session& session) {
  if (session.id.slot >= connections_.size()) return;
  if (ClientConnection* const connection = connections_[session.id.slot].get())
    connection->GatherPackets();
}

void Space::KeepAliveChanged() {
  for (const auto& connection : connections_) {
    if (connection) connection->KeepAlive(making_.config->settings().tcp_keepalive);
  }
}

}  // namespace sluice
