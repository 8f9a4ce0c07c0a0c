// LinkAttempt: one connection to another server on its way to be open. It goes from stage to stage,
// a step each time that something has happened, and never waits:
//
//   kLooksUp ──> kConnects ──> kShakes (with TLS) ──> kOpen
//      └─────────────┴────────────┴──> kFailed
//
// The addresses of a name are tried in their order; each that is left has an equal share of the
// time that is left, so that one which never answers leaves some for the next.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/clients/link_listener.h"
#include "server/clients/session.h"
#include "server/net/connection.h"
#include "server/net/links/link_route.h"
#include "server/net/links/unawaited_calls.h"
#include "server/net/loop/alarms.h"
#include "server/net/tls/tls_wire.h"

namespace sluice {

class LinkAttempt final : private ConnectionOwner {
 public:
  enum class Stage : uint8_t { kLooksUp, kConnects, kShakes, kOpen, kFailed };
  // All of them outlive it.
  struct Uses {
    Poller& poller;
    Alarms& alarms;
    UnawaitedCalls& calls;
    std::function<boost::intrusive_ptr<Connection>(int descriptor)> connect;
    std::function<TlsWire&()> wire;  // OpenSSL is there
    std::function<void()> wake;      // Advance has something to do
  };

  LinkAttempt(LinkTarget target, const Uses& uses);
  // Gives it up, unless its connection was taken.
  ~LinkAttempt() override;
  LinkAttempt(const LinkAttempt&) = delete;

  bool is_due() const { return is_due_; }
  // A step. Requires: is_due, and it is neither open nor failed.
  Stage Advance();

  // Requires: kOpen, once. Its owner is again who made it.
  boost::intrusive_ptr<Connection> TakeConnection();
  Peer PeerOf(const Connection& connection) const;
  // Why it failed.
  const std::string& fault() const { return fault_; }

 private:
  using Moment = std::chrono::steady_clock::time_point;

  Poller& poller() override { return on_.poller; }
  void Readable(Connection&) override { Due(); }
  void Writable(Connection&) override { Due(); }

  void Due();
  void BeginLookUp();
  void ConnectNext();
  int ConnectTo(const LinkRoute::Address& address) const;
  void LookAtConnection();
  void BeginShaking();
  void Shake();
  void TimeIsOver();
  void Fail(std::string why);
  void SetAlarm(std::chrono::microseconds in);
  std::chrono::microseconds left() const;
  void CloseConnection();

  const LinkTarget target_;
  const Uses& on_;
  const Moment deadline_;
  Stage stage_ = Stage::kLooksUp;
  bool is_due_ = false;
  bool is_late_ = false;  // the alarm has rung
  Alarms::Id alarm_;
  uint64_t call_ = 0;                 // that looks its name up
  std::unique_ptr<LinkRoute> route_;  // null: not known yet
  size_t next_address_ = 0;
  boost::intrusive_ptr<Connection> connection_;
  ConnectionOwner* owner_ = nullptr;  // of the connection, before and behind
  std::string fault_;                 // of the last address, or of all
};

}  // namespace sluice
