// See http_client.h.
#include "server/net/http/http_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr size_t kReadBytes = 4096;

// The same for all pages: nothing is kept, guessed, framed or sent on.
constexpr std::string_view kManners =
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n";

}  // namespace

bool HttpClient::Step(const Answering& answering, int64_t now_ns) {
  if (!open()) return false;
  if (stage == Stage::kClosing) {
    // Bytes that come now are dropped; the end of the stream ends the connection.
    return ReadOnce();
  }
  if (is_sending()) return false;
  if (asked_) return AnswerAsked(answering, now_ns) && open() && !is_sending();
  if (AnswerOne(answering, now_ns)) return open() && !is_sending() && !asked_;
  if (!ReadOnce()) return false;
  const bool is_behind = AnswerOne(answering, now_ns) && !asked_ && reader_.is_inside();
  return open() && !is_sending() && (is_behind || may_have_more_);
}

// False: there was nothing, or it is closed.
bool HttpClient::ReadOnce() {
  char bytes[kReadBytes];
  const size_t room =
      stage == Stage::kClosing ? sizeof bytes : std::min(sizeof bytes, reader_.room());
  const ssize_t got = Read({bytes, room});
  if (got < 0) Close();
  if (got <= 0) return false;
  may_have_more_ = MayHaveMore(static_cast<size_t>(got), room);
  if (stage == Stage::kClosing) return may_have_more_;
  moved_bytes_ += static_cast<size_t>(got);
  reader_.Feed({bytes, static_cast<size_t>(got)});
  return true;
}

// False: there is no whole request yet.
bool HttpClient::AnswerOne(const Answering& answering, int64_t now_ns) {
  HttpRequest request;
  switch (reader_.Next(request)) {
    case RequestReader::Found::kNothingYet:
      return false;
    case RequestReader::Found::kFault:
      Refuse(HttpSentence(reader_.fault(), HttpReason(reader_.fault())));
      return true;
    case RequestReader::Found::kRequest:
      break;
  }
  request.address = peer_.address;
  request.is_local = peer_.loopback;
  request.is_certified = tls() && !tls()->PeerName().empty();
  asked_ = std::move(request);
  AnswerAsked(answering, now_ns);
  return true;
}

// False: it goes on waiting.
bool HttpClient::AnswerAsked(const Answering& answering, int64_t now_ns) {
  if (!judgement_) judgement_ = answering(*asked_);
  if (!judgement_ || judgement_->from_ns > now_ns) return false;
  const HttpAnswer answer = std::move(std::exchange(judgement_, std::nullopt)->answer);
  const bool is_head = std::exchange(asked_, std::nullopt)->method == "HEAD";
  // A visitor that guesses passwords has to come again for each.
  const bool closes = reader_.wants_close() || ++requests_ >= kRequestsMax || answer.status == 401;
  Say(answer, is_head, closes);
  return true;
}

void HttpClient::Refuse(const HttpAnswer& answer) {
  Say(answer, /*is_head=*/false, /*closes=*/true);
}

void HttpClient::Say(const HttpAnswer& answer, bool is_head, bool closes) {
  std::string head = Concat("HTTP/1.1 ", answer.status, ' ', HttpReason(answer.status),
                            "\r\nContent-Type: ", answer.type,
                            "\r\nContent-Length: ", answer.body.size(), "\r\n", kManners);
  for (const auto& [name, value] : answer.headers) ConcatTo(head, name, ": ", value, "\r\n");
  if (closes) {
    head += "Connection: close\r\n";
  } else if (reader_.is_old()) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  output_.Append(head);
  if (!is_head) output_.Append(answer.body);
  closes_ |= closes;
  Send();
}

bool HttpClient::Flush() {
  if (!open()) return false;
  Send();
  return open() && !is_sending();
}

void HttpClient::Send() {
  while (!output_.empty()) {
    const size_t before = output_.bytes();
    if (!Write(output_)) return Close();
    if (output_.bytes() == before) break;
    moved_bytes_ += before - output_.bytes();
  }
  if (is_sending()) return AwaitWritable();
  output_.ReleaseMemory();
  if (closes_) LeaveGently();
}

// A connection that is closed while there is something to read is reset, and the peer may not see
// the answer. So it is told of the end first, and closed when it has ended, too, or in time.
void HttpClient::LeaveGently() {
  if (stage == Stage::kClosing) return;
  if (tls()) return Close();
  stage = Stage::kClosing;
  ::shutdown(descriptor(), SHUT_WR);
}

}  // namespace sluice
