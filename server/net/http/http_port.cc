// See http_port.h. A client may be closed anywhere; it leaves the list in Sweep, or when its place
// is wanted.
#include "server/net/http/http_port.h"

#include <sys/utsname.h>

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr int kBacklog = 64;
constexpr std::string_view kPost = "POST";
constexpr int64_t kNanosPerMilli = 1'000'000;

std::string HostName() {
  utsname name;
  return ::uname(&name) < 0 ? std::string() : std::string(name.nodename);
}

}  // namespace

HttpPort::HttpPort(const Uses& uses) : on_(uses), pages_(uses.config, uses.engine, HostName()) {}

HttpPort::~HttpPort() = default;

// --- listening

Fault HttpPort::Open(const std::vector<InheritedSocket>& inherited) {
  for (const InheritedSocket& socket : inherited) {
    auto listener = std::make_unique<Listener>(on_.poller, Accepting());
    if (const std::string fault = listener->Adopt(socket.descriptor); !fault.empty())
      return Concat("can't use the socket '", socket.name, "' that was handed over: ", fault);
    listeners_.push_back(std::move(listener));
  }
  if (listeners_.empty()) {
    if (std::string fault = Listen(); !fault.empty()) return fault;
  }
  on_.log.Write(LogLevel::kNotice, Concat(on_.config.settings().http_tls ? "HTTPS" : "HTTP",
                                          " is served on ", listeners_.front()->Address()));
  pages_.Sample(on_.clock.TickNanos());
  ArmSample();
  return {};
}

Fault HttpPort::Listen() {
  const auto port = static_cast<int>(on_.config.settings().http_port);
  for (std::string address : on_.config.settings().http_bind) {
    const bool is_optional = address.starts_with('-');
    if (is_optional) address.erase(0, 1);
    auto listener = std::make_unique<Listener>(on_.poller, Accepting());
    const std::string fault = listener->ListenTcp(address, port, kBacklog);
    if (fault.empty()) {
      listeners_.push_back(std::move(listener));
    } else if (!is_optional || !listener->address_missing()) {
      return Concat("can't listen on ", address, " port ", port, " (http-port): ", fault);
    }
  }
  return listeners_.empty() ? "can't listen on any address of http-bind" : "";
}

std::vector<InheritedSocket> HttpPort::Sockets() const {
  std::vector<InheritedSocket> sockets;
  for (const auto& listener : listeners_) sockets.push_back({listener->descriptor(), "http"});
  return sockets;
}

Listener::Accepted HttpPort::Accepting() {
  return [this](int descriptor, Peer peer) { Accept(descriptor, std::move(peer)); };
}

void HttpPort::Close() {
  listeners_.clear();
  for (const auto& client : clients_) client->Close();
}

// --- who comes

void HttpPort::Accept(int descriptor, Peer peer) {
  ++figures_.connections;
  auto client = boost::intrusive_ptr<HttpClient>(
      new HttpClient(sources_, descriptor, *this, std::move(peer)));
  if (!client->open()) return;
  MakeRoom(HttpKind::kNew);
  clients_.push_back(client);
  client->progressed_ns = on_.clock.TickNanos();
  SetDeadline(*client, /*is_fresh=*/true);
  if (!sweeps_) ArmSweep();
  if (!on_.config.settings().http_tls) return Note(*client);
  client->stage = HttpClient::Stage::kShaking;
  on_.tls.Begin(client, client->peer());
}

// So that one more of that kind has a place.
void HttpPort::MakeRoom(HttpKind kind) {
  std::erase_if(clients_, [](const auto& client) { return !client->open(); });
  std::vector<HttpPlace> places;
  places.reserve(clients_.size());
  for (const auto& client : clients_) {
    const int64_t heard_ns = on_.tls.handshakes().HeardNanos(*client);
    places.push_back({.kind = client->kind,
                      .is_over = client->stage == HttpClient::Stage::kClosing,
                      .progressed_ns = std::max(client->progressed_ns, heard_ns)});
  }
  const std::optional<size_t> goes = WhoGoes(places, kind);
  if (!goes) return;
  const auto worst = std::next(clients_.begin(), static_cast<ptrdiff_t>(*goes));
  ++figures_.closed_early;
  if ((*worst)->stage == HttpClient::Stage::kShaking) on_.tls.handshakes().Forget(**worst);
  (*worst)->Close();
  clients_.erase(worst);
}

void HttpPort::Take(HttpClient& client, HttpKind kind) {
  if (!client.open() || client.kind == kind) return;
  MakeRoom(kind);
  client.kind = kind;
}

void HttpPort::Progressed(HttpClient& client) { client.progressed_ns = on_.clock.TickNanos(); }

void HttpPort::Secured(Connection& connection) {
  auto& client = static_cast<HttpClient&>(connection);
  client.stage = HttpClient::Stage::kOpen;
  Progressed(client);
  Note(client);
}

// --- what they ask

void HttpPort::Readable(Connection& connection) { Note(static_cast<HttpClient&>(connection)); }

void HttpPort::Writable(Connection& connection) {
  auto& client = static_cast<HttpClient&>(connection);
  const uint64_t moved = client.moved_bytes();
  const bool is_through = client.Flush();
  if (client.moved_bytes() != moved) Progressed(client);
  if (!is_through) return;
  SetDeadline(client, /*is_fresh=*/true);
  Note(client);
}

void HttpPort::Note(HttpClient& client) {
  if (std::exchange(client.is_listed, true)) return;
  ready_.emplace_back(&client);
  on_.want_advance();
}

bool HttpPort::Advance() {
  bool more = false;
  for (const auto& listener : listeners_) more |= listener->AcceptConnections(kAcceptedAtOnceMax);
  if (ready_.empty()) [[likely]]
    return more;
  const int64_t begun_ns = on_.clock.TickNanos();
  do {
    const boost::intrusive_ptr<HttpClient> client = std::move(ready_.front());
    ready_.pop_front();
    if (!client->open()) continue;
    client->is_listed = false;
    Serve(*client);
  } while (!ready_.empty() && on_.clock.TickNanos() - begun_ns < kStepNanos);
  return more || !ready_.empty();
}

void HttpPort::Serve(HttpClient& client) {
  const uint64_t requests = figures_.requests;
  const uint64_t moved = client.moved_bytes();
  const auto judging = [this](const HttpRequest& request) { return Judge(request); };
  const bool has_more = client.Step(judging, on_.clock.TickNanos());
  const bool has_asked = figures_.requests != requests;
  if (client.moved_bytes() != moved) Progressed(client);
  if (has_asked && !client.is_waiting()) Take(client, asked_kind_);
  SetDeadline(client, has_asked);
  if (has_more) Note(client);
}

// None: so many passwords were wrong that this one waits.
std::optional<HttpClient::Judgement> HttpPort::Judge(const HttpRequest& request) {
  const int64_t now_ns = on_.clock.TickNanos();
  const bool says_password = !request.authorization.empty();
  if (says_password && !guesses_.MayJudge(request.address, now_ns)) {
    ArmWaiting(guesses_.next_ns());
    return std::nullopt;
  }
  HttpClient::Judgement judgement{.answer = Answer(request)};
  asked_kind_ = pages_.IsProbe(request) ? HttpKind::kProbe : HttpKind::kPage;
  const int64_t delay_ms = on_.config.settings().failed_login_delay;
  if (says_password && judgement.answer.status == 401 && delay_ms > 0) {
    judgement.from_ns = now_ns + delay_ms * kNanosPerMilli;
    guesses_.Wrong(request.address, judgement.from_ns);
    ArmWaiting(judgement.from_ns);
  }
  return judgement;
}

// Clients whose requests wait are looked at again then.
void HttpPort::ArmWaiting(int64_t from_ns) {
  if (waiting_ && waiting_ns_ <= from_ns) return;
  if (waiting_) on_.alarms.Cancel(*waiting_);
  waiting_ns_ = from_ns;
  const int64_t in_us = std::max<int64_t>(0, from_ns - on_.clock.TickNanos()) / 1000 + 1;
  waiting_ = on_.alarms.Set(std::chrono::microseconds(in_us), [this] {
    waiting_.reset();
    guesses_.Expire(on_.clock.TickNanos());
    for (const auto& client : clients_) {
      if (client->open() && client->is_waiting()) Note(*client);
    }
    if (guesses_.next_ns() != Guesses::kNever) ArmWaiting(guesses_.next_ns());
  });
}

HttpAnswer HttpPort::Answer(const HttpRequest& request) {
  ++figures_.requests;
  const int64_t begun_ns = on_.clock.TickNanos();
  HttpAnswer answer = pages_.Answer(request, figures_);
  // Its changes may have left others something to do.
  if (request.method == kPost) on_.want_advance();
  figures_.page_us.Record((on_.clock.TickNanos() - begun_ns) / 1000);
  return answer;
}

// --- time

// A request has its time from its first byte on, however slowly the others come; so has an answer.
void HttpPort::SetDeadline(HttpClient& client, bool is_fresh) {
  const bool is_closing = client.stage == HttpClient::Stage::kClosing;
  int64_t ms = kIdleMs;
  if (is_closing) {
    ms = kClosingMs;
  } else if (client.is_sending()) {
    ms = kAnswerMs;
  } else if (client.is_inside_request() || client.until_ns == 0) {
    ms = kRequestMs;
  }
  const int64_t until_ns = on_.clock.TickNanos() + ms * kNanosPerMilli;
  if (is_fresh || client.until_ns > until_ns) client.until_ns = until_ns;
}

void HttpPort::ArmSweep() {
  sweeps_ = true;
  on_.alarms.Set(std::chrono::seconds(1), [this] {
    sweeps_ = false;
    Sweep();
    if (!clients_.empty()) ArmSweep();
  });
}

void HttpPort::ArmSample() {
  on_.alarms.Set(std::chrono::seconds(History::kEveryS), [this] {
    pages_.Sample(on_.clock.TickNanos());
    ArmSample();
  });
}

// The end of a handshake is for Handshakes to see to, in the same time.
void HttpPort::Sweep() {
  const int64_t now_ns = on_.clock.TickNanos();
  for (const auto& client : clients_) {
    if (!client->open() || client->until_ns > now_ns) continue;
    if (client->stage == HttpClient::Stage::kShaking) continue;
    if (client->is_waiting()) continue;  // its answer comes in time, or never was to
    const bool is_slow = client->is_inside_request() && !client->is_sending() &&
                         client->stage == HttpClient::Stage::kOpen;
    ++figures_.closed_early;
    if (is_slow) client->Refuse(HttpSentence(408, "the request took too long"));
    client->Close();
  }
  std::erase_if(clients_, [](const auto& client) { return !client->open(); });
}

}  // namespace sluice
