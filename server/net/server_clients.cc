// How connections become clients of a server, for server.h: sockets that were accepted, those whose
// TLS handshake is through, the server's end of a pair that a program keeps the other end of, and
// links that it has opened itself.
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/clients/clients.h"
#include "server/net/certified_login.h"
#include "server/net/server.h"

namespace sluice {
namespace {

constexpr size_t kLoggedNameMax = 100;
constexpr std::string_view kNoTlsHere = "-ERR this port does not take TLS (see tls-port)\r\n";

}  // namespace

boost::intrusive_ptr<SpaceConnection> Server::Connect(int descriptor) {
  return new SpaceConnection(sources_, descriptor, *this);
}

void Server::Admit(int descriptor, Peer peer) {
  first_.Admit(Connect(descriptor), std::move(peer));
}

namespace {

// Closes what was never taken, as a server that has ended runs no calls any more.
struct OwnedDescriptor {
  explicit OwnedDescriptor(int owned) : descriptor(owned) {}
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  ~OwnedDescriptor() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

}  // namespace

void Server::Admit(int descriptor) {
  Post([this, owned = std::make_shared<OwnedDescriptor>(descriptor)] {
    if (!stopping_) AdmitTrusted(std::exchange(owned->descriptor, -1));
  });
}

void Server::AdmitTrusted(int descriptor) {
  Session* const session = first_.Admit(Connect(descriptor), {.address = "host:0",
                                                              .local_address = "host:0",
                                                              .descriptor = descriptor,
                                                              .unix_socket = true});
  if (!session) return;
  Clients& clients = first_.engine().part<Clients>();
  clients.SetLoggedIn(*session, true);
  clients.ClassChanged(*session);
}

void Server::BeginTls(int descriptor, Peer peer) {
  tls_.Begin(Connect(descriptor), std::move(peer));
}

// Bytes that it has sent behind its handshake may be here already.
void Server::AdmitSecured(boost::intrusive_ptr<Connection> connection, Peer peer) {
  if (&connection->owner() != this) return http_->Secured(*connection);
  if (const std::string_view refusal = acceptor_.RefusalOf(peer); !refusal.empty()) {
    acceptor_.CountRefusal();
    OutputBuffer words;
    words.Append(refusal);
    connection->Write(words);
    return connection->Close();
  }
  Connection& secured = *connection;
  Session* const session = first_.Admit(
      boost::static_pointer_cast<SpaceConnection>(std::move(connection)), std::move(peer));
  if (config_.settings().tls_auth_clients_user == "CN") LogInByName(secured, *session);
  Readable(secured);
}

// The name may be any that an authority has signed, so the log has it only in part.
void Server::LogInByName(const Connection& connection, Session& session) {
  const std::string name = connection.tls()->PeerName();
  if (name.empty() || LogInCertified(first_.engine(), session, name)) return;
  tls_.handshakes().Say(Concat("the certificate of ", session.peer.address, " names no user: ",
                               QuotedWord(std::string_view(name).substr(0, kLoggedNameMax))));
}

size_t Server::clients() const {
  return first_.engine().session_count() + (spaces_ ? spaces_->clients() : 0);
}

// Clients that need this server: a master to which it has gone itself does not.
size_t Server::programs() const {
  return clients() - first_.engine().part<Clients>().count(SessionKind::kMasterLink);
}

// --- links

std::unique_ptr<LinkOpener> Server::MakeLinks() {
  if (!around_.make_links) return nullptr;
  return around_.make_links({.poller = loop_.poller(),
                             .alarms = alarms_,
                             .connect = [this](int descriptor) { return Connect(descriptor); },
                             .want_advance = [this] { links_due_ = turn_due_ = true; }});
}

Fault Server::OpenLink(Space& space, const LinkTarget& target, LinkListener& listener) {
  if (!links_) return "this server connects to no other one";
  links_->Open(
      target, listener,
      {.opened = [this, &space, &listener](
                     boost::intrusive_ptr<Connection> connection,
                     Peer peer) { LinkOpened(space, connection, std::move(peer), listener); },
       .failed =
           [this, &space, &listener](std::string_view why) {
             space.LinkFailed(listener, why);
             WorkCame(space);
           }});
  return {};
}

void Server::GiveUpLink(LinkListener& listener) {
  if (links_) links_->GiveUp(listener);
}

void Server::AdvanceLinks() {
  links_due_ = false;
  links_due_ = links_->Advance();
  turn_due_ |= links_due_;
}

// Bytes that the other server has sent at once may be here already.
void Server::LinkOpened(Space& space, const boost::intrusive_ptr<Connection>& connection, Peer peer,
                        LinkListener& listener) {
  space.LinkOpened(boost::static_pointer_cast<SpaceConnection>(connection), std::move(peer),
                   listener);
  if (connection->open()) Readable(*connection);
  WorkCame(space);
}

// A TLS client on a port without TLS.
bool Server::IsLost(SpaceConnection& connection) {
  const Session* const session = connection.space->engine().Find(connection.session);
  if (connection.tls() || session->last_command || !session->pending.empty()) return false;
  if (session->kind == SessionKind::kMasterLink) return false;  // its stream may begin so anywhere
  tls_.handshakes().Say(Concat("a connection from ", session->peer.address,
                               " is closed: it speaks TLS on a port without it"));
  OutputBuffer words;
  words.Append(kNoTlsHere);
  connection.Write(words);
  return true;
}

}  // namespace sluice
