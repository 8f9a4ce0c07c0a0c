// See tls_stream.h. OpenSSL's writes never wait (TlsWire), so no operation is ever to be repeated:
// a record that was made is either sent or kept as bytes. Its queue of errors is left empty.
#include "server/net/tls/tls_stream.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"
#include "server/net/tls/openssl.h"
#include "server/net/tls/tls_name.h"

namespace sluice {
namespace {

constexpr size_t kVectorsMax = 64;
// For whoever did not mean to: a client of the protocol shows it to its user.
constexpr std::string_view kNotTls = "-ERR this port takes TLS only (tls-port)\r\n";

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// OpenSSL's reason for its last failure, with what is wrong with the peer's certificate.
std::string FaultOf(const SSL& ssl) {
  const unsigned long error = openssl().ERR_peek_last_error();
  const char* const reason = openssl().ERR_reason_error_string(error);
  openssl().ERR_clear_error();
  if (error == 0) return "the peer has closed the connection";
  const long verified = openssl().SSL_get_verify_result(&ssl);
  std::string text = reason ? reason : "unknown error";
  if (verified == X509_V_ERR_APPLICATION_VERIFICATION) {
    return Concat(text, " (its common name has a NUL byte)");
  }
  if (verified != X509_V_OK) {
    text = Concat(text, " (", openssl().X509_verify_cert_error_string(verified), ')');
  }
  return text;
}

}  // namespace

TlsStream::TlsStream(ssl_ctx_st& context, TlsWire& wire, int descriptor)
    : wire_(wire), descriptor_(descriptor), ssl_(openssl().SSL_new(&context)) {
  BIO* const end = ssl_ ? wire.MakeEnd(*this) : nullptr;
  if (!end) {
    ssl_.reset();
    return;
  }
  openssl().SSL_set_bio(ssl_.get(), end, end);
  openssl().SSL_set_accept_state(ssl_.get());
  openssl().SSL_set_msg_callback(ssl_.get(), MessageSeen);
  openssl().SSL_ctrl(ssl_.get(), SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, this);
}

TlsStream::~TlsStream() = default;

bool TlsStream::BeClient(const std::string& name, bool verifies) {
  if (!ssl_) return true;  // Shake will fail
  is_client_ = true;
  openssl().SSL_set_connect_state(ssl_.get());
  // An address is never asked for by name (RFC 6066); SSL_set1_host tells it from one by itself.
  in6_addr ignored = {};
  const bool is_address = ::inet_pton(AF_INET, name.c_str(), &ignored) == 1 ||
                          ::inet_pton(AF_INET6, name.c_str(), &ignored) == 1;
  if (!is_address &&
      openssl().SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                         const_cast<char*>(name.c_str())) != 1) {
    openssl().ERR_clear_error();
    return false;
  }
  if (!verifies || openssl().SSL_set1_host(ssl_.get(), name.c_str()) == 1) return true;
  openssl().ERR_clear_error();
  return false;
}

void TlsStream::Free::operator()(ssl_st* ssl) const { openssl().SSL_free(ssl); }

// --- the socket

// One recv a call. One that filled the room may have left something, of which no edge will tell: it
// is to be tried again, in whichever call that is.
int TlsStream::Receive(char* into, int size, bool& retry) {
  retry = true;
  if (std::exchange(received_, true)) return -1;
  const ssize_t got = ::recv(descriptor_, into, static_cast<size_t>(size), 0);
  socket_has_more_ = got == size;
  if (got < 0 && WouldBlock(errno)) return -1;
  retry = false;
  if (got <= 0) return static_cast<int>(got);
  if (first_byte_ < 0) first_byte_ = static_cast<unsigned char>(into[0]);
  return static_cast<int>(got);
}

// Bytes that the socket took; -1: the connection broke.
ssize_t TlsStream::SendNow(std::string_view bytes) {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  return WouldBlock(errno) ? 0 : -1;
}

bool TlsStream::Flush() {
  std::string& gathered = wire_.gathered;
  if (!unsent_.empty()) {
    unsent_ += gathered;
    gathered.clear();
    const ssize_t sent = SendNow(unsent_);
    if (sent < 0) return false;
    unsent_.erase(0, static_cast<size_t>(sent));
    if (unsent_.empty()) FreeMemory(unsent_);
    return true;
  }
  if (gathered.empty()) return true;
  const ssize_t sent = SendNow(gathered);
  if (sent >= 0) unsent_.assign(gathered, static_cast<size_t>(sent));
  gathered.clear();
  return sent >= 0;
}

// Whether the call that gave `result` failed for good.
bool TlsStream::IsBroken(int result) {
  const int why = openssl().SSL_get_error(ssl_.get(), result);
  return why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
}

// --- the handshake

TlsStream::Progress TlsStream::Shake() {
  if (!ssl_) return Progress::kFailed;
  received_ = false;
  const int result = openssl().SSL_do_handshake(ssl_.get());
  if (result != 1 && IsBroken(result)) return ShakingFailed();
  if (!Flush()) {
    fault_ = "the connection broke";
    return Progress::kFailed;
  }
  if (result != 1) return Progress::kWaits;
  is_shaken_ = true;
  return Progress::kDone;
}

// The peer is told why by an alert; one that would not know what that is, in words.
TlsStream::Progress TlsStream::ShakingFailed() {
  fault_ = FaultOf(*ssl_);
  if (is_plain() && !is_client_) wire_.gathered = kNotTls;
  Flush();
  return Progress::kFailed;
}

std::string TlsStream::PeerName() const {
  const X509* const certificate = openssl().SSL_get0_peer_certificate(ssl_.get());
  if (!certificate || openssl().SSL_get_verify_result(ssl_.get()) != X509_V_OK) return {};
  return CommonName(*certificate);
}

void TlsStream::MessageSeen(int is_ours, int, int type, const void* bytes, size_t size, ssl_st*,
                            void* stream) {
  const bool is_key_update = !is_ours && type == SSL3_RT_HANDSHAKE && size > 0 &&
                             *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
  if (is_key_update) ++static_cast<TlsStream*>(stream)->key_updates_;
}

// --- text

ssize_t TlsStream::Read(std::span<char> into) {
  if (ended_) return -1;
  received_ = false;
  key_updates_ = 0;
  size_t total = 0;
  while (total < into.size()) {
    size_t got = 0;
    const int result =
        openssl().SSL_read_ex(ssl_.get(), into.data() + total, into.size() - total, &got);
    if (result != 1) {
      ended_ = IsBroken(result);
      break;
    }
    total += got;
    if (!openssl().SSL_has_pending(ssl_.get())) break;
  }
  if (ended_) openssl().ERR_clear_error();
  ended_ |= key_updates_ > kKeyUpdatesMax || !Flush();
  holds_more_ = ended_ || (total == into.size() && openssl().SSL_has_pending(ssl_.get()));
  if (total > 0) return static_cast<ssize_t>(total);
  return ended_ ? -1 : 0;
}

bool TlsStream::Write(OutputBuffer& output) {
  if (!unsent_.empty()) {
    if (!Flush()) return false;
    if (!unsent_.empty()) return true;
  }
  // Encrypted output is consumed when all of it has left, and not before: neither more nor less of
  // the output may be behind a record.
  output.Consume(std::min(std::exchange(in_flight_, 0), output.bytes()));
  iovec vectors[kVectorsMax];
  const size_t count = output.Peek(vectors, kVectorsMax);
  size_t total = 0;
  for (size_t i = 0; i < count && total < kWriteBytesMax; ++i) {
    const size_t bytes = std::min(vectors[i].iov_len, kWriteBytesMax - total);
    size_t written = 0;
    if (openssl().SSL_write_ex(ssl_.get(), vectors[i].iov_base, bytes, &written) != 1) {
      openssl().ERR_clear_error();
      wire_.gathered.clear();
      return false;
    }
    total += written;
  }
  if (!Flush()) return false;
  if (unsent_.empty()) {
    output.Consume(total);
  } else {
    in_flight_ = total;
  }
  return true;
}

void TlsStream::SayGoodbye() {
  if (!is_shaken_ || has_unsent()) return;
  openssl().SSL_shutdown(ssl_.get());
  openssl().ERR_clear_error();
  Flush();
}

}  // namespace sluice
