// HttpClient: a connection to the HTTP port: requests in, one answer after the other out. While an
// answer waits to be sent nothing more is read, so that what a peer can make wait is one answer.
//
// Its port tells it when there is something to do, and closes it when its time is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "protocol/output_buffer.h"
#include "server/http/exchange.h"
#include "server/net/connection.h"
#include "server/net/http/request_reader.h"

namespace sluice {

class HttpClient final : public Connection {
 public:
  using Answering = std::function<HttpAnswer(const HttpRequest& request)>;
  // Requests of one connection; a client that has more makes another.
  static constexpr int kRequestsMax = 10'000;
  enum class Stage : uint8_t { kShaking, kOpen, kClosing };

  HttpClient(Poller& poller, Sources& sources, int descriptor, ConnectionOwner& owner, Peer peer)
      : Connection(poller, sources, descriptor, owner), peer_(std::move(peer)) {}

  Stage stage = Stage::kOpen;
  bool is_listed = false;  // among its port's ready ones
  int64_t until_ns = 0;    // then it is closed
  const Peer& peer() const { return peer_; }
  bool is_sending() const { return !output_.empty(); }
  bool is_inside_request() const { return reader_.is_inside(); }

  // Reads once, and answers one request at most. True: there is more to do at once.
  bool Step(const Answering& answering);
  // The socket takes bytes again. True: there is more to do at once.
  bool Flush();
  // An answer, and the end.
  void Refuse(const HttpAnswer& answer);

 private:
  bool ReadOnce();
  bool AnswerOne(const Answering& answering);
  void Say(const HttpAnswer& answer, bool is_head, bool closes);
  void Send();
  void LeaveGently();

  const Peer peer_;
  RequestReader reader_;
  OutputBuffer output_;
  bool closes_ = false;  // behind the output
  bool may_have_more_ = false;
  int requests_ = 0;
};

}  // namespace sluice
