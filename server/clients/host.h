// Host: the program around one engine: it sends, closes, stops and polls. Sockets, a host program,
// a fuzzer and a simulator implement it. Two more interfaces come with it: the process's services,
// which all engines of a process share, and its background work.
//
// All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/clients/background.h"
#include "server/clients/link_listener.h"
#include "server/clients/process_services.h"
#include "server/clients/session.h"
#include "server/core/log_level.h"

namespace sluice {

class Host {
 public:
  // Both outlive the host's engine.
  Host(ProcessServices& process, Background& background)
      : process_(process), background_(background) {}
  virtual ~Host() = default;

  ProcessServices& process() { return process_; }
  Background& background() { return background_; }
  void Log(LogLevel level, std::string_view line) { process_.Log(level, line); }

  // At the end of a turn, once a session with output: sends what can be sent, and Consumes it. Must
  // not call back into the engine.
  virtual void Send(Session& session) = 0;
  // The engine has given the session up (after Send): closes its connection. The session is gone.
  virtual void Closed(SessionId id) = 0;
  // Called from inside long work: serves the other sessions (they get -BUSY or -LOADING).
  // Re-entrant turns are the engine's care.
  virtual void Poll() = 0;
  // From now on a peer that does not answer for so long, without a word from it meanwhile, counts
  // as gone: Drop is to be called; 0: it is watched no more. Where peers cannot vanish unseen there
  // is nothing to do.
  virtual void WatchPeer(Session& session, int64_t timeout_ms) {
    static_cast<void>(session), static_cast<void>(timeout_ms);
  }
  // The system may keep small packets to this peer back, so that it sends fewer.
  virtual void GatherPackets(Session& session) { static_cast<void>(session); }
  // Calls it once, between two turns, when so much real time has passed. A test double asks for it;
  // other hosts need not know it.
  virtual void CallAfter(int64_t real_ms, std::function<void()> call) {
    static_cast<void>(real_ms), static_cast<void>(call);
  }
  // Whether it can connect to other servers at all.
  virtual bool opens_links() const { return true; }
  // Begins to connect to another server. Between two turns either a session is opened for it and
  // Engine::LinkOpened called, or Engine::LinkFailed. A sentence: it opens none, and nothing
  // follows. Links asks for it, and for nothing twice.
  virtual Fault OpenLink(const LinkTarget& target, LinkListener& listener) {
    static_cast<void>(target), static_cast<void>(listener);
    return "a server without sockets of its own cannot connect to another one";
  }
  // Gives up what has not opened yet: the engine is told no more of it.
  virtual void CloseLink(LinkListener& listener) { static_cast<void>(listener); }
  // A session of which nothing was to be read any more (Engine::IsStalled) may be read again.
  virtual void ReadOn(Session& session) { static_cast<void>(session); }
  // Stops the process or the loop; the exit code.
  virtual void Shutdown(int code) = 0;
  // An end that was asked for, and then had to wait, comes to nothing.
  virtual void GoesOn() {}
  // True between Shutdown and the end: long work gives up.
  virtual bool Stopping() const { return false; }

 private:
  ProcessServices& process_;
  Background& background_;
};

}  // namespace sluice
