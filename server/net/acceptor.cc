// See acceptor.h. A refusal is one sentence of the protocol, sent without waiting, and the
// connection is closed whether or not it was taken. Options that change while the server runs make
// the listeners anew; where that fails, CONFIG SET puts the old value back and the same function
// listens as before.
#include "server/net/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"
#include "server/access/users.h"
#include "server/net/connection.h"

namespace sluice {
namespace {

// Descriptors beside those of clients: listeners, log, epoll, timer, files being written.
constexpr int64_t kReservedDescriptors = 32;

constexpr int kAnyPortTries = 16;
// Names in LISTEN_FDNAMES; all others are for plain clients. The last is of a server that made way:
// its path goes with the server.
constexpr std::string_view kTlsSocket = "tls";
constexpr std::string_view kPlainSocket = "clients";
constexpr std::string_view kOwnUnixSocket = "unixsocket";

constexpr std::string_view kTooManyClients = "-ERR max number of clients reached\r\n";
constexpr std::string_view kTooManyOfAddress =
    "-ERR max number of clients of one address reached (maxclients-per-ip)\r\n";
constexpr std::string_view kProtectedMode =
    "-DENIED Sluice is running in protected mode: no password is set, so only clients on this "
    "machine may connect. To let others in, set a password (requirepass) or, if nobody but your "
    "own clients can reach this port, set protected-mode to no.\r\n";

}  // namespace

Acceptor::Acceptor(Config& config, Space& space, Log& log, Poller& poller, const Sources& sources,
                   TlsDoor& tls, std::function<size_t()> clients, Admit admit,
                   std::function<int64_t(int64_t)> files_for)
    : config_(config),
      space_(space),
      log_(log),
      poller_(poller),
      sources_(sources),
      tls_(tls),
      clients_(std::move(clients)),
      admit_(std::move(admit)),
      files_for_(std::move(files_for)) {}

Fault Acceptor::Open(const std::vector<InheritedSocket>& inherited) {
  FitMaxClients();
  for (const InheritedSocket& socket : inherited) {
    if (std::string error = Adopt(socket); !error.empty()) return error;
  }
  if (tcp_listeners_.empty()) {
    if (std::string error = ListenTcp(); !error.empty()) return error;
  }
  if (tls_listeners_.empty()) {
    if (std::string error = ListenTls(); !error.empty()) return error;
  }
  if (!unix_listener_) {
    if (std::string error = ListenUnix(); !error.empty()) return error;
  }
  if (tcp_listeners_.empty() && tls_listeners_.empty() && !unix_listener_) {
    return "there is nothing to listen on: port and tls-port are 0 and no unixsocket is set";
  }
  config_.Follow(*this);
  tls_.FollowOptions();
  return {};
}

void Acceptor::Close() {
  tcp_listeners_.clear();
  tls_listeners_.clear();
  unix_listener_.reset();
}

std::vector<InheritedSocket> Acceptor::Sockets() const {
  std::vector<InheritedSocket> sockets;
  const auto add = [&](const Listener& listener, std::string_view name) {
    sockets.push_back({listener.descriptor(), std::string(name)});
  };
  for (const auto& listener : tcp_listeners_) add(*listener, kPlainSocket);
  for (const auto& listener : tls_listeners_) add(*listener, kTlsSocket);
  if (unix_listener_) add(*unix_listener_, kOwnUnixSocket);
  return sockets;
}

void Acceptor::GiveAway() {
  if (unix_listener_) unix_listener_->set_owns_path(false);
  Close();
}

std::string Acceptor::Address() const {
  if (!tcp_listeners_.empty()) return tcp_listeners_.front()->Address();
  if (!tls_listeners_.empty()) return tls_listeners_.front()->Address();
  return Concat("unix:", config_.settings().unixsocket);
}

std::string Acceptor::UnixPath() const {
  const std::string address = unix_listener_ ? unix_listener_->Address() : Address();
  constexpr std::string_view kUnix = "unix:";
  return address.starts_with(kUnix) ? address.substr(kUnix.size()) : std::string();
}

// --- options

void Acceptor::FitMaxClients() {
  const int64_t wanted = config_.settings().maxclients + kReservedDescriptors;
  const int64_t allowed = files_for_(wanted);
  if (allowed >= wanted) return;
  const int64_t clients = std::max<int64_t>(1, allowed - kReservedDescriptors);
  log_.Write(LogLevel::kWarning, Concat("maxclients is lowered to ", clients,
                                        ": the system allows ", allowed, " open files"));
  if (const Fault fault = config_.Set({{"maxclients", Concat(clients)}})) {
    log_.Write(LogLevel::kWarning, fault);
  }
}

std::optional<std::string> Acceptor::OptionChanged(std::string_view option) {
  constexpr const char* kCannotListen = "Unable to listen on this port. Check server logs.";
  if (option == "maxclients") return CheckFiles();
  if (option == "port") return ListenTcp().empty() ? "" : kCannotListen;
  if (option == "bind") {
    const bool listens = ListenTcp().empty() && ListenTls().empty();
    return listens ? "" : "Failed to bind to specified addresses.";
  }
  if (option != "tls-port") return std::nullopt;
  if (config_.settings().tls_port != 0 && !tls_.Load().empty()) {
    return "Unable to update TLS configuration. Check server logs.";
  }
  return ListenTls().empty() ? "" : kCannotListen;
}

Fault Acceptor::CheckFiles() const {
  const int64_t wanted = config_.settings().maxclients + kReservedDescriptors;
  const int64_t allowed = files_for_(wanted);
  if (allowed >= wanted) return {};
  return Concat(
      "The operating system is not able to handle the specified number of clients, try with ",
      allowed - kReservedDescriptors);
}

// --- listening

Listener::Accepted Acceptor::Accepting(Listener::Accepted admit) {
  return
      [this, admit = std::move(admit)](int fd, Peer peer) { Accept(fd, std::move(peer), admit); };
}

std::unique_ptr<Listener> Acceptor::ListenForSpace(Listener::Accepted admit, std::string& fault) {
  auto listener = std::make_unique<Listener>(poller_, Accepting(std::move(admit)));
  fault = listener->ListenTcp("127.0.0.1", 0, Backlog());
  return listener;
}

int Acceptor::Backlog() const { return static_cast<int>(config_.settings().tcp_backlog); }

Fault Acceptor::ListenUnix() {
  const Settings& settings = config_.settings();
  if (settings.unixsocket.empty()) return {};
  unix_listener_ = std::make_unique<Listener>(poller_, Accepting(admit_.plain));
  const std::string error = unix_listener_->ListenUnix(
      settings.unixsocket, static_cast<int>(settings.unixsocketperm), Backlog());
  if (!error.empty()) return Concat("can't listen on ", settings.unixsocket, ": ", error);
  return {};
}

// The port that clients know is that of the socket, whatever `port` says.
Fault Acceptor::Adopt(const InheritedSocket& socket) {
  const bool is_tls = socket.name == kTlsSocket;
  const auto accept_tls = [this](int fd, Peer peer) { AcceptTls(fd, std::move(peer)); };
  const Listener::Accepted accepted =
      is_tls ? Listener::Accepted(accept_tls) : Accepting(admit_.plain);
  auto listener = std::make_unique<Listener>(poller_, accepted);
  if (const std::string fault = listener->Adopt(socket.descriptor); !fault.empty())
    return Concat("can't use the socket '", socket.name, "' that was handed over: ", fault);
  log_.Write(LogLevel::kNotice, Concat("Listening on ", listener->Address(), ", as handed over"));
  if (socket.name == kOwnUnixSocket) {
    listener->set_owns_path(true);
    unix_listener_ = std::move(listener);
    return {};
  }
  Listeners& listeners = is_tls ? tls_listeners_ : tcp_listeners_;
  if (!is_tls && !listener->is_unix() && listeners.empty()) config_.PortIs(listener->Port());
  listeners.push_back(std::move(listener));
  return {};
}

// Every address of `bind` on `port`, in place of those listened on before. A free port is one that
// the system has chosen for the first address; another program may have it on the next.
Fault Acceptor::ListenTcp() {
  const Settings& settings = config_.settings();
  tcp_listeners_.clear();
  if (settings.port == 0 && !settings.any_port) return {};
  const auto port = static_cast<int>(settings.port);
  bool is_taken = false;
  const Listener::Accepted accepting = Accepting(admit_.plain);
  std::string error = ListenOnEach(port, accepting, tcp_listeners_, is_taken);
  for (int i = 1; i < kAnyPortTries && port == 0 && is_taken; ++i) {
    error = ListenOnEach(port, accepting, tcp_listeners_, is_taken);
  }
  if (!error.empty()) {
    log_.Write(LogLevel::kWarning, error);
  } else if (port == 0) {
    config_.PortIs(tcp_listeners_.front()->Port());
  }
  return error;
}

// Likewise on `tls-port`, once the files are read without which nobody could be let in.
Fault Acceptor::ListenTls() {
  tls_listeners_.clear();
  const auto port = static_cast<int>(config_.settings().tls_port);
  if (port == 0) return {};
  bool is_taken = false;
  const auto accepting = [this](int fd, Peer peer) { AcceptTls(fd, std::move(peer)); };
  std::string error = ListenOnEach(port, accepting, tls_listeners_, is_taken);
  log_.Write(error.empty() ? LogLevel::kNotice : LogLevel::kWarning,
             error.empty() ? Concat("TLS is served on port ", port) : error);
  return error;
}

Fault Acceptor::ListenOnEach(int port, const Listener::Accepted& accepted, Listeners& listeners,
                             bool& is_taken) {
  is_taken = false;
  listeners.clear();
  for (std::string address : config_.settings().bind) {
    const bool optional = address.starts_with('-');
    if (optional) address.erase(0, 1);
    auto listener = std::make_unique<Listener>(poller_, accepted);
    const std::string fault = listener->ListenTcp(address, port, Backlog());
    if (fault.empty()) {
      if (port == 0) port = listener->Port();
      listeners.push_back(std::move(listener));
    } else if (!optional || !listener->address_missing()) {
      is_taken = listener->port_taken();
      return Concat("can't listen on ", address, " port ", port, ": ", fault);
    }
  }
  return listeners.empty() ? "can't listen on any address of bind" : "";
}

// --- new connections

bool Acceptor::AcceptConnections() {
  bool more = unix_listener_ && unix_listener_->AcceptConnections();
  for (const auto& listener : tcp_listeners_) more |= listener->AcceptConnections();
  if (tls_.handshakes().is_busy()) return more;
  for (const auto& listener : tls_listeners_) more |= listener->AcceptConnections();
  return more;
}

bool Acceptor::IsFull() const {
  return static_cast<int64_t>(clients_()) >= config_.settings().maxclients;
}

// A handshake that does not go on keeps nobody out.
bool Acceptor::MakeRoom() { return !IsFull() || (tls_.handshakes().EndSilent() && !IsFull()); }

bool Acceptor::HasEnoughOf(int descriptor) const {
  const int64_t most = config_.settings().maxclients_per_ip;
  return most > 0 && static_cast<int64_t>(sources_.CountOf(descriptor)) >= most;
}

std::string_view Acceptor::RefusalOf(const Peer& peer) const {
  const bool is_open = config_.settings().protected_mode &&
                       space_.engine().part<Users>().default_user().has_no_password();
  return is_open && !peer.loopback ? kProtectedMode : std::string_view();
}

void Acceptor::Accept(int descriptor, Peer peer, const Listener::Accepted& admit) {
  if (!MakeRoom()) return Refuse(descriptor, kTooManyClients);
  if (HasEnoughOf(descriptor)) return Refuse(descriptor, kTooManyOfAddress);
  if (const auto refusal = RefusalOf(peer); !refusal.empty()) return Refuse(descriptor, refusal);
  if (!peer.unix_socket) SetTcpOptions(descriptor);
  admit(descriptor, std::move(peer));
}

// Before the handshake no words can be said, and for a client that cannot stay none is made.
void Acceptor::AcceptTls(int descriptor, Peer peer) {
  if (!MakeRoom() || HasEnoughOf(descriptor)) return Refuse(descriptor, "");
  SetTcpOptions(descriptor);
  admit_.tls(descriptor, std::move(peer));
}

void Acceptor::Refuse(int descriptor, std::string_view sentence) {
  CountRefusal();
  [[maybe_unused]] const ssize_t ignored =
      ::send(descriptor, sentence.data(), sentence.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(descriptor);
}

void Acceptor::SetTcpOptions(int descriptor) const {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Connection::KeepSocketAlive(descriptor, config_.settings().tcp_keepalive);
}

}  // namespace sluice
