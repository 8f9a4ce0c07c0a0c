// Listener: one bound socket, TCP or Unix, and the accepting of what comes in on it. It is watched
// beside the clients, so that a turn finds all who have connected before its requests were sent.
//
// When the process is out of descriptors a spare one is given up for a moment, so that the new
// connection gets a closed connection instead of hanging in the backlog while the loop spins.
//
// At most 1000 connections are accepted at once, as in Redis: other clients want a turn, too.
// Errors are the system's sentences.
#pragma once

#include <functional>
#include <string>

#include "protocol/text/fault.h"
#include "server/clients/session.h"
#include "server/net/loop/poller.h"

namespace sluice {

class Listener final : private ReadinessWatcher {
 public:
  static constexpr int kAcceptedAtOnceMax = 1000;
  // Called for every accepted, non-blocking descriptor, which the callee owns.
  using Accepted = std::function<void(int descriptor, Peer peer)>;

  Listener(Poller& poller, Accepted accepted);
  ~Listener() override;

  // An error sentence, or empty.
  Fault ListenTcp(const std::string& address, int port, int backlog);  // 0: a free port
  // Whether that error was that this machine has no such address, or no such protocol.
  bool address_missing() const { return address_missing_; }
  bool port_taken() const { return port_taken_; }  // likewise: somebody listens there
  // Where it listens by TCP, as a client on this machine may connect: "127.0.0.1:6379".
  std::string Address() const;
  int Port() const;
  Fault ListenUnix(const std::string& path, int mode, int backlog);
  // A socket that listens already, which it owns from now on; its path, if it has one, it does not.
  Fault Adopt(int descriptor);
  int descriptor() const { return descriptor_; }
  // Whether a Unix socket's path goes with it. That of one that is handed over does not.
  void set_owns_path(bool on) { owns_path_ = on; }
  bool is_unix() const { return !unix_path_.empty(); }
  // Accepts who has come since, so many at once that other clients get a turn too; whether there
  // may be more.
  bool AcceptConnections(int most = kAcceptedAtOnceMax) { return has_waiting_ && Accept(most); }
  bool has_waiting() const { return has_waiting_; }
  void Close();

 private:
  void Readable(bool) override { has_waiting_ = true; }
  void Writable() override {}
  Fault Bind(int family, const void* address, unsigned length, int backlog);
  bool Accept(int most);
  bool AcceptOne();
  bool IsSecondTry();
  bool TurnAway();

  Poller& poller_;
  int descriptor_ = -1;
  bool has_waiting_ = false;  // or may have
  bool ran_out_ = false;      // of descriptors, when one was to be accepted
  Accepted accepted_;
  std::string unix_path_;
  std::string owned_path_;  // absolute: the working directory may be another by the end
  bool owns_path_ = false;
  int spare_ = -1;
  bool address_missing_ = false;
  bool port_taken_ = false;
};

}  // namespace sluice
