// Space: an engine and the connections of its clients: the engine's Host. A server is one space; a
// test double has others beside it (SpaceTable).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "boost/smart_ptr/intrusive_ptr.hpp"
#include "protocol/output_buffer.h"
#include "protocol/text/fault.h"
#include "server/clients/host.h"
#include "server/clients/session.h"
#include "server/config/config.h"
#include "server/engine/engine.h"
#include "storage/time/movable_clock.h"

namespace sluice {

class Space;

// The connection of a space's client, as its space sees it. Sockets implement it
// (server/net/space_connection).
class ClientConnection {
 public:
  virtual ~ClientConnection() = default;

  // How many pointers there are to it. It goes with the last one.
  virtual void AddReference() = 0;
  virtual void DropReference() = 0;

  SessionId session;       // its client's, in the engine of that space
  Space* space = nullptr;  // null before the first Admit

  virtual bool open() const = 0;
  // Sends what `output` holds, as far as it goes at once. False: the connection broke.
  virtual bool Write(OutputBuffer& output) = 0;
  // Space::Writable is to be called once the peer takes bytes again.
  virtual void AwaitWritable() = 0;
  // Its client is another now, with an output of its own.
  virtual void ForgetOutput() = 0;
  // The kernel ends the connection when the peer has not answered it for so long; 0: no more.
  virtual void WatchPeer(int64_t timeout_ms) = 0;
  // The kernel asks a silent peer every so many seconds whether it is there; 0: never. Not of one
  // that is watched.
  virtual void KeepAlive(int64_t seconds) = 0;
  // See Host.
  virtual void GatherPackets() = 0;
  // There may be something to read of which the owner was told before.
  virtual void ReadOn() = 0;
  virtual void Close() = 0;
  // Memory of the connection itself.
  virtual size_t bytes() const = 0;
};

inline void intrusive_ptr_add_ref(ClientConnection* connection) { connection->AddReference(); }
inline void intrusive_ptr_release(ClientConnection* connection) { connection->DropReference(); }

// Server around spaces, whose loop makes their turns.
class SpaceOwner {
 public:
  virtual ~SpaceOwner() = default;
  virtual ProcessServices& process() = 0;
  // A command of that space takes long: others are served from within it.
  virtual void PollFrom(Space& space) = 0;
  // One client less.
  virtual void ClientLeft() = 0;
  // The engine of that space has something to do, of which no client has told.
  virtual void WorkCame(Space& space) = 0;
  // Its engine is to end.
  virtual void ShutdownOf(Space& space, int code) = 0;
  // Or was to, and goes on. See Host.
  virtual void GoesOn(Space& space) = 0;
  // See Host, of the same names.
  virtual void CallAfter(int64_t real_ms, std::function<void()> call) = 0;
  virtual bool Stopping() const = 0;
  // See Host. Space::LinkOpened or LinkFailed follows between two turns, unless it is given up.
  virtual Fault OpenLink(Space& space, const LinkTarget& target, LinkListener& listener) = 0;
  virtual void GiveUpLink(LinkListener& listener) = 0;
};

class Space final : public Host {
 public:
  Space(SpaceOwner& owner, Background& background)
      : Host(owner.process(), background), owner_(owner) {}
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
  // Requires: it has no client, and no command of it runs.
  void DropEngine();
  bool given_up() const { return given_up_; }

  // --- connections
  // The client of that connection is one of this space. Null: the connection could not be had.
  Session* Admit(boost::intrusive_ptr<ClientConnection> connection, Peer peer);
  // The client is forgotten, its connection is the caller's. Null: it had none any more.
  boost::intrusive_ptr<ClientConnection> Release(SessionId id);
  // The connection broke, or its peer has closed it.
  void Drop(SessionId id);
  void DropBroken() {
    if (!broken_.empty()) [[unlikely]]
      DropAllBroken();
  }
  void KeepAliveChanged();  // tcp-keepalive
  void CloseConnections();
  // It is to go as soon as its engine runs nothing: long work ends.
  void GiveUp() {
    given_up_ = true;
    CloseConnections();
  }
  // The connection that OpenLink has asked for stands, or will not come to be.
  void LinkOpened(boost::intrusive_ptr<ClientConnection> connection, Peer peer,
                  LinkListener& listener);
  void LinkFailed(LinkListener& listener, std::string_view why);
  // A client takes bytes again.
  void Writable(ClientConnection& connection);

  // --- Host
  void Send(Session& session) override;
  void Closed(SessionId id) override;
  void WatchPeer(Session& session, int64_t timeout_ms) override;
  void GatherPackets(Session& session) override;
  void Poll() override { owner_.PollFrom(*this); }
  void Shutdown(int code) override { owner_.ShutdownOf(*this, code); }
  void GoesOn() override { owner_.GoesOn(*this); }
  void CallAfter(int64_t real_ms, std::function<void()> call) override;
  Fault OpenLink(const LinkTarget& target, LinkListener& listener) override;
  void CloseLink(LinkListener& listener) override;
  void ReadOn(Session& session) override;
  bool Stopping() const override { return given_up_ || owner_.Stopping(); }

 private:
  void Make(const EngineOptions& options);
  void DropAllBroken();
  void GiveUpLinks();

  SpaceOwner& owner_;
  bool given_up_ = false;
  // Parts that the engine is made of.
  struct Making {
    Config* config = nullptr;
    Clock* clock = nullptr;
    const CommandTable* commands = nullptr;
  } making_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Space*> engine_lives_;  // as long as that engine: for what is called later
  std::vector<boost::intrusive_ptr<ClientConnection>> connections_;  // by session slot
  std::vector<SessionId> broken_;                                    // found while sending
  std::vector<LinkListener*> opening_;  // whose links are neither open nor failed
};

}  // namespace sluice
