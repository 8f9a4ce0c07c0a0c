// See engine.h.
#include "server/engine/engine.h"

#include <utility>

#include "server/engine/assembly.h"
#include "server/engine/turn_loop.h"

namespace sluice {

// The assembly is given the yielder before there is a turn that can serve others.
struct Engine::Inside final : private Yielder {
  Inside(Config& config, Clock& clock, Host& host, const CommandTable& commands,
         EngineOptions options)
      : all(config, clock, host, commands, std::move(options), *this), turns(all) {}
  Assembly all;
  TurnLoop turns;

 private:
  void Yield(Session& caller) override { turns.Yield(caller); }
};

Engine::Engine(Config& config, Clock& clock, Host& host, const CommandTable& commands,
               EngineOptions options)
    : inside_(std::make_unique<Inside>(config, clock, host, commands, std::move(options))) {}

Engine::~Engine() = default;

Fault Engine::StartLog() { return inside_->all.StartLog(); }

void Engine::Import(std::vector<std::string> paths, bool is_snapshot, bool keeps_ended) {
  inside_->all.log.Import(std::move(paths), is_snapshot, keeps_ended);
}

bool Engine::loading() const { return inside_->all.log.loading(); }

Fault Engine::WriteFiles() { return inside_->all.log.WriteFiles(); }

bool Engine::FinishLog() {
  inside_->all.snapshots.Abandon();
  return inside_->all.log.Finish();
}

EndOutcome Engine::End(std::string_view words) {
  inside_->all.RefreshNow();
  return inside_->all.graceful_end.Begin(EndWords::Of(words));
}

bool Engine::SaveForHandOver() { return inside_->all.snapshots.PrepareEnd({.save = true}); }

// --- sessions

SessionId Engine::Open(Peer peer) { return inside_->all.clients.Open(std::move(peer)).id; }

void Engine::LinkOpened(SessionId id, LinkListener& listener) {
  inside_->all.RefreshNow();
  inside_->all.links.Opened(*Find(id), listener);
}

void Engine::LinkFailed(LinkListener& listener, std::string_view why) {
  inside_->all.RefreshNow();
  inside_->all.links.Failed(listener, why);
}

void Engine::Drop(SessionId id) { inside_->all.Drop(id); }

Session* Engine::Find(SessionId id) const { return inside_->all.clients.Find(id); }

void Engine::ForEachSession(const std::function<void(Session&)>& visit) const {
  inside_->all.clients.ForEach(visit);
}

size_t Engine::session_count() const { return inside_->all.clients.size(); }

bool Engine::MayTouch(SessionId id) const { return inside_->all.current_client.MayTouch(id); }

bool Engine::HasBacklog(SessionId id) const {
  const Session* const session = Find(id);
  return session && session->has_backlog();
}

bool Engine::IsStalled(SessionId id) const {
  const Session* const session = Find(id);
  return session && session->is_stalled && !session->requeued;
}

// --- turns

void Engine::Receive(SessionId id, std::string_view bytes) {
  if (Session* const session = Find(id)) Receive(*session, bytes);
}

void Engine::Receive(Session& session, std::string_view bytes) {
  inside_->turns.Receive(session, bytes);
}

std::span<char> Engine::RoomFor(Session& session) { return inside_->turns.RoomFor(session); }

void Engine::ReceiveInPlace(Session& session, size_t bytes) {
  inside_->turns.ReceiveInPlace(session, bytes);
}

bool Engine::RunTurn() { return inside_->turns.RunTurn(); }

std::optional<RequestOutcome> Engine::RunNow(SessionId id, Args args) {
  return inside_->turns.RunNow(id, args);
}

Session* Engine::DirectSession(SessionId id) { return inside_->turns.DirectSession(id); }

bool Engine::has_left_over() const { return inside_->turns.has_left_over(); }

int64_t Engine::NextWork() const { return inside_->turns.NextWork(); }

void Engine::Housekeep() { inside_->all.EverySecond(); }

void Engine::Sent(SessionId id) { inside_->turns.Sent(id); }

// --- what it consists of

const Parts& Engine::parts() const { return inside_->all.parts; }

const EngineOptions& Engine::options() const { return inside_->all.options; }

const Settings& Engine::settings() const { return inside_->all.settings(); }

OutputBuffer::Spares& Engine::spare_blocks() { return inside_->all.clients.spare_blocks(); }
Statistics& Engine::statistics() { return inside_->all.statistics; }

Keyspace& Engine::keyspace() { return inside_->all.keyspace; }

const TimerWheel& Engine::wheel() const { return inside_->all.wheel; }

Now Engine::now() const { return inside_->all.clock.now(); }

size_t Engine::UsedMemory() const { return inside_->all.facts.UsedMemory(); }

RandomState Engine::SaveRandom() const { return inside_->all.SaveRandom(); }

void Engine::RestoreRandom(const RandomState& state) { inside_->all.RestoreRandom(state); }

std::string Engine::Audit() const { return inside_->all.Audit(); }

}  // namespace sluice
