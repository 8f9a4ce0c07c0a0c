// Space: an engine and the connections of its clients. A server is one space; a test double has
// others beside it (SpaceTable). What the engine asks of its clients is done here, what it asks of
// the process is passed on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/clients/host.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "server/net/connection.h"
#include "storage/time/movable_clock.h"

namespace sluice {

class Space;

// A connection whose client is one of a space.
class SpaceConnection final : public Connection {
 public:
  using Connection::Connection;
  Space* space = nullptr;
};

// What serves spaces.
class SpaceOwner : public ProcessHost {
 public:
  // A command of that space takes long: others are served from within it.
  virtual void PollFrom(Space& space) = 0;
  // One client less.
  virtual void ClientLeft() = 0;
  // The engine of that space has something to do, of which no client has told.
  virtual void WorkCame(Space& space) = 0;
  // Its engine is to end.
  virtual void ShutdownOf(Space& space, int code) = 0;
};

class Space final : public Host {
 public:
  // `has_workers`: background work is the process's; else it is done at once (files are in memory).
  Space(SpaceOwner& owner, bool has_workers) : owner_(owner), has_workers_(has_workers) {}
  ~Space() override { CloseConnections(); }
  Space(const Space&) = delete;

  // Once, before all else, and again where the one before is to go: then its clients must have been
  // taken. All that is given outlives the engine. `clock` may be `movable`, which then is the clock
  // that clients move.
  void MakeEngine(Config& config, Clock& clock, const CommandTable& commands,
                  const EngineOptions& options);
  // One that begins as the one before began. The configuration stays.
  void MakeEngineAnew();
  Engine& engine() const { return *engine_; }
  bool has_engine() const { return engine_ != nullptr; }
  // Precondition: it has no client, and no command of it runs.
  void DropEngine();
  bool given_up() const { return given_up_; }

  // --- connections
  // The client of that connection is one of this space. Null: the connection could not be had.
  Session* Admit(std::shared_ptr<SpaceConnection> connection, Peer peer);
  // The client is forgotten, its connection is the caller's. Null: it had none any more.
  std::shared_ptr<SpaceConnection> Release(SessionId id);
  // The connection broke, or its peer has closed it.
  void Drop(SessionId id);
  void DropBroken();
  void KeepAliveChanged();  // tcp-keepalive
  void CloseConnections();
  // It is to go as soon as its engine runs nothing: long work ends.
  void GiveUp() {
    given_up_ = true;
    CloseConnections();
  }
  // A client takes bytes again.
  void Writable(Connection& connection);

  // --- Host
  void Send(Session& session) override;
  void Closed(SessionId id) override;
  void WatchPeer(Session& session, int64_t timeout_ms) override;
  void Poll() override { owner_.PollFrom(*this); }
  void Shutdown(int code) override { owner_.ShutdownOf(*this, code); }
  uint64_t RunInBackground(WorkerLane lane, std::function<void()> work,
                           std::function<void()> done) override {
    return has_workers_ ? owner_.RunInBackground(lane, std::move(work), std::move(done))
                        : Host::RunInBackground(lane, std::move(work), std::move(done));
  }
  void CallAfter(int64_t real_ms, std::function<void()> call) override;
  void AwaitBackground(uint64_t number) override {
    if (has_workers_) owner_.AwaitBackground(number);
  }
  void FinishBackground() override {
    if (has_workers_) owner_.FinishBackground();
  }
  bool Stopping() const override { return given_up_ || owner_.Stopping(); }
  void FillWithRandom(std::span<uint8_t> bytes) override { owner_.FillWithRandom(bytes); }
  void Sleep(int64_t micros) override { owner_.Sleep(micros); }
  void Log(LogLevel level, std::string_view line) override { owner_.Log(level, line); }
  ProcessUsage Usage() override { return owner_.Usage(); }
  AllocatorUsage Allocator() override { return owner_.Allocator(); }
  void ReleaseMemory() override { owner_.ReleaseMemory(); }
  bool SurveyPages(SparsePages& pages) override { return owner_.SurveyPages(pages); }
  void ReturnFreedAtOnce(bool on) override { owner_.ReturnFreedAtOnce(on); }
  std::string AllocatorReport() override { return owner_.AllocatorReport(); }

 private:
  void Make(const EngineOptions& options);

  SpaceOwner& owner_;
  const bool has_workers_;
  bool given_up_ = false;
  // What the engine is made of.
  struct Making {
    Config* config = nullptr;
    Clock* clock = nullptr;
    const CommandTable* commands = nullptr;
  } making_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Space*> engine_lives_;  // as long as that engine: for what is called later
  std::vector<std::shared_ptr<SpaceConnection>> connections_;  // by session slot
  std::vector<SessionId> broken_;                              // found while sending
};

}  // namespace sluice
