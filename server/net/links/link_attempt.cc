// See link_attempt.h. Whatever happens only marks it due: all that it does it does in Advance, so
// no event finds it in the midst of a step.
#include "server/net/links/link_attempt.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr std::string_view kTooManyLookUps =
    "too many look-ups of names are waited for, or the system has no thread to give";

// "127.0.0.1:6379", "[::1]:6379".
std::string TextOf(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const std::string_view name(host);
  return address.ss_family == AF_INET6 ? Concat('[', name, "]:", std::string_view(port))
                                       : Concat(name, ':', std::string_view(port));
}

using NameOfSocket = int (*)(int descriptor, sockaddr* address, socklen_t* size);

std::string TextOf(int descriptor, NameOfSocket name) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (name(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return TextOf(address, size);
}

}  // namespace

LinkAttempt::LinkAttempt(LinkTarget target, const Uses& uses)
    : target_(std::move(target)),
      on_(uses),
      deadline_(steady_clock::now() + std::chrono::milliseconds(target_.timeout_ms)) {
  BeginLookUp();
}

LinkAttempt::~LinkAttempt() {
  on_.alarms.Cancel(alarm_);
  on_.calls.Forget(call_);
  CloseConnection();
}

void LinkAttempt::Due() {
  is_due_ = true;
  on_.wake();
}

LinkAttempt::Stage LinkAttempt::Advance() {
  is_due_ = false;
  if (std::exchange(is_late_, false)) {
    TimeIsOver();
  } else if (stage_ == Stage::kLooksUp) {
    route_->fault.empty() ? ConnectNext() : Fail(route_->fault);
  } else if (stage_ == Stage::kConnects) {
    LookAtConnection();
  } else if (stage_ == Stage::kShakes) {
    Shake();
  }
  if (stage_ == Stage::kOpen) on_.alarms.Cancel(alarm_);
  return stage_;
}

// --- kLooksUp

void LinkAttempt::BeginLookUp() {
  SetAlarm(left());
  if (IsRouteKnown(target_)) {
    route_ = std::make_unique<LinkRoute>(FindLinkRoute(target_));
    return Due();
  }
  const auto found = std::make_shared<LinkRoute>();
  call_ = on_.calls.Run([found, target = target_] { *found = FindLinkRoute(target); },
                        [this, found] {
                          route_ = std::make_unique<LinkRoute>(std::move(*found));
                          Due();
                        });
  if (call_ != 0) return;
  route_ = std::make_unique<LinkRoute>(LinkRoute{.fault = std::string(kTooManyLookUps)});
  Due();
}

// --- kConnects

void LinkAttempt::ConnectNext() {
  stage_ = Stage::kConnects;
  CloseConnection();
  while (next_address_ < route_->to.size()) {
    const auto shares = static_cast<int64_t>(route_->to.size() - next_address_);
    const int descriptor = ConnectTo(route_->to[next_address_++]);
    fault_ = std::strerror(errno);
    if (descriptor < 0) continue;
    connection_ = on_.connect(descriptor);
    owner_ = &connection_->owner();
    connection_->set_owner(*this);
    if (!connection_->open()) {  // the poller has no room
      fault_ = std::strerror(errno);
      continue;
    }
    connection_->AwaitWritable();
    return SetAlarm(left() / shares);
  }
  Fail(fault_);
}

// A descriptor, whose connection may be on its way; or -1, and errno says why. As Redis has it, a
// link that cannot come from where it was to come from comes from anywhere.
int LinkAttempt::ConnectTo(const LinkRoute::Address& address) const {
  const int family = address.bytes.ss_family;
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  for (const LinkRoute::Address& source : route_->from) {
    if (source.bytes.ss_family != family) continue;
    if (::bind(descriptor, source.get(), source.size) == 0) break;
  }
  if (::connect(descriptor, address.get(), address.size) == 0 || errno == EINPROGRESS)
    return descriptor;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

void LinkAttempt::LookAtConnection() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(connection_->descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  sockaddr_storage peer;
  socklen_t peer_size = sizeof peer;
  const bool is_connected =
      ::getpeername(connection_->descriptor(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
  if (error == 0 && !is_connected) return connection_->AwaitWritable();
  if (error != 0) {
    fault_ = std::strerror(error);
    return ConnectNext();
  }
  if (!route_->tls) {
    stage_ = Stage::kOpen;
    return;
  }
  BeginShaking();
}

// --- kShakes

void LinkAttempt::BeginShaking() {
  stage_ = Stage::kShakes;
  SetAlarm(left());
  auto stream =
      std::make_unique<TlsStream>(route_->tls->get(), on_.wire(), connection_->descriptor());
  if (const Fault fault = NameServer(*stream, target_.tls, target_.host)) return Fail(fault);
  connection_->Secure(std::move(stream));
  Shake();
}

void LinkAttempt::Shake() {
  TlsStream& stream = *connection_->tls();
  switch (stream.Shake()) {
    case TlsStream::Progress::kWaits:
      if (stream.has_unsent()) connection_->AwaitWritable();
      if (stream.has_more()) Due();
      return;
    case TlsStream::Progress::kFailed:
      return Fail(Concat("the TLS handshake failed: ", stream.fault()));
    case TlsStream::Progress::kDone:
      stage_ = Stage::kOpen;
  }
}

// --- the end

void LinkAttempt::TimeIsOver() {
  if (stage_ == Stage::kLooksUp)
    return Fail(Concat(target_.host, ": its address could not be found out in time"));
  if (stage_ == Stage::kShakes)
    return Fail(Concat("the TLS handshake took longer than ", target_.timeout_ms, " ms"));
  fault_ = std::strerror(ETIMEDOUT);
  ConnectNext();
}

void LinkAttempt::Fail(std::string why) {
  fault_ = std::move(why);
  stage_ = Stage::kFailed;
  on_.alarms.Cancel(alarm_);
  CloseConnection();
}

void LinkAttempt::SetAlarm(microseconds in) {
  on_.alarms.Cancel(alarm_);
  alarm_ = on_.alarms.Set(in, [this] {
    is_late_ = true;
    Due();
  });
}

microseconds LinkAttempt::left() const {
  const auto left = std::chrono::ceil<microseconds>(deadline_ - steady_clock::now());
  return std::max(left, microseconds(0));
}

void LinkAttempt::CloseConnection() {
  if (!connection_) return;
  connection_->set_owner(*owner_);
  connection_->Close();
  connection_.reset();
}

boost::intrusive_ptr<Connection> LinkAttempt::TakeConnection() {
  connection_->set_owner(*owner_);
  return std::exchange(connection_, nullptr);
}

Peer LinkAttempt::PeerOf(const Connection& connection) const {
  return {.address = TextOf(connection.descriptor(), ::getpeername),
          .local_address = TextOf(connection.descriptor(), ::getsockname),
          .descriptor = connection.descriptor(),
          .loopback = false};
}

}  // namespace sluice
