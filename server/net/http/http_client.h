// HttpClient: a connection to the HTTP port: requests in, one answer after the other out. While an
// answer waits to be sent nothing more is read, so that what a peer can make wait is one answer.
//
// Its port tells it when there is something to do, and closes it when its time is over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "protocol/output_buffer.h"
#include "server/http/exchange.h"
#include "server/net/connection.h"
#include "server/net/http/http_places.h"
#include "server/net/http/request_reader.h"

namespace sluice {

class HttpClient final : public Connection {
 public:
  struct Judgement {
    HttpAnswer answer;
    int64_t from_ns = 0;  // it is given from this moment on
  };
  // None: the request is to be shown again, later (Step).
  using Answering = std::function<std::optional<Judgement>(const HttpRequest& request)>;
  // Requests of one connection; a client that has more makes another.
  static constexpr int kRequestsMax = 10'000;
  enum class Stage : uint8_t { kShaking, kOpen, kClosing };

  HttpClient(Sources& sources, int descriptor, ConnectionOwner& owner, Peer peer)
      : Connection(sources, descriptor, owner), peer_(std::move(peer)) {}

  Stage stage = Stage::kOpen;
  bool is_listed = false;  // among its port's ready ones
  int64_t until_ns = 0;    // then it is closed
  HttpKind kind = HttpKind::kNew;
  int64_t progressed_ns = 0;
  const Peer& peer() const { return peer_; }
  bool is_sending() const { return !output_.empty(); }
  // A request of it is not answered yet, for a while.
  bool is_waiting() const { return asked_.has_value(); }
  // Bytes that were read, or that the peer has taken: they grow while it gets on.
  uint64_t moved_bytes() const { return moved_bytes_; }
  bool is_inside_request() const { return reader_.is_inside(); }

  // Reads once, and answers one request at most. True: there is more to do at once.
  bool Step(const Answering& answering, int64_t now_ns);
  // The socket takes bytes again. True: there is more to do at once.
  bool Flush();
  // An answer, and the end.
  void Refuse(const HttpAnswer& answer);

 private:
  bool ReadOnce();
  bool AnswerOne(const Answering& answering, int64_t now_ns);
  bool AnswerAsked(const Answering& answering, int64_t now_ns);
  void Say(const HttpAnswer& answer, bool is_head, bool closes);
  void Send();
  void LeaveGently();

  const Peer peer_;
  RequestReader reader_;
  OutputBuffer output_;
  std::optional<HttpRequest> asked_;    // while it waits,
  std::optional<Judgement> judgement_;  // maybe judged already
  uint64_t moved_bytes_ = 0;
  bool closes_ = false;  // behind the output
  bool may_have_more_ = false;
  int requests_ = 0;
};

}  // namespace sluice
