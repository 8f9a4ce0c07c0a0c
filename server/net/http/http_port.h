// HttpPort: the port of the HTTP pages. Its connections are in the server's own poller, on the
// server's thread, and get a bounded piece of work between two turns.
//
// Every ten seconds it takes a sample of the server's figures, for the plots of the page.
//
//   places: http_places.h; 10 s for a request, 2 min between two, 30 s for an answer to be taken
//   wrong passwords: server/http/guesses.h
//
// Nothing of it is made without `http-port`. With `http-tls` connections go through the handshakes
// of the server's TLS port.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/text/fault.h"
#include "server/http/guesses.h"
#include "server/http/pages.h"
#include "server/net/connection.h"
#include "server/net/extra_port.h"
#include "server/net/http/http_client.h"
#include "server/net/listener.h"
#include "server/net/sources.h"

namespace sluice {

class HttpPort final : public ExtraPort, public ConnectionOwner {
 public:
  static constexpr int kAcceptedAtOnceMax = 16;
  static constexpr int64_t kStepNanos = 300'000;  // of work between two turns, and one answer
  static constexpr int64_t kRequestMs = 10'000;
  static constexpr int64_t kIdleMs = 120'000;
  static constexpr int64_t kAnswerMs = 30'000;
  static constexpr int64_t kClosingMs = 2'000;

  explicit HttpPort(const Uses& uses);
  ~HttpPort() override;

  // --- ExtraPort
  Fault Open(const std::vector<InheritedSocket>& inherited) override;
  void Close() override;
  std::vector<InheritedSocket> Sockets() const override;
  bool Advance() override;
  void Secured(Connection& connection) override;

 private:
  using Clients = std::list<boost::intrusive_ptr<HttpClient>>;

  Poller& poller() override { return on_.poller; }
  void Readable(Connection& connection) override;
  void Writable(Connection& connection) override;

  Fault Listen();
  Listener::Accepted Accepting();
  void Accept(int descriptor, Peer peer);
  void MakeRoom(HttpKind kind);
  void Take(HttpClient& client, HttpKind kind);
  void Serve(HttpClient& client);
  void Progressed(HttpClient& client);
  void Note(HttpClient& client);
  void SetDeadline(HttpClient& client, bool is_fresh);
  std::optional<HttpClient::Judgement> Judge(const HttpRequest& request);
  HttpAnswer Answer(const HttpRequest& request);
  void ArmWaiting(int64_t from_ns);
  void Sweep();
  void ArmSweep();
  void ArmSample();

  const Uses on_;
  HttpPages pages_;
  Sources sources_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  Clients clients_;  // in the order in which they came
  std::deque<boost::intrusive_ptr<HttpClient>> ready_;
  Guesses guesses_;
  std::optional<Alarms::Id> waiting_;     // the alarm for those whose requests wait
  int64_t waiting_ns_ = 0;                // and its moment
  HttpKind asked_kind_ = HttpKind::kNew;  // of the request that was answered last
  HttpFigures figures_;
  bool sweeps_ = false;
};

}  // namespace sluice
