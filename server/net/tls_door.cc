// See tls_door.h.
#include "server/net/tls_door.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"
#include "server/net/tls/tls_stream.h"

namespace sluice {
namespace {

constexpr std::string_view kFollowed[] = {"tls-cert-file",
                                          "tls-key-file",
                                          "tls-key-file-pass",
                                          "tls-ca-cert-file",
                                          "tls-ca-cert-dir",
                                          "tls-auth-clients",
                                          "tls-protocols",
                                          "tls-ciphers",
                                          "tls-ciphersuites",
                                          "tls-prefer-server-ciphers",
                                          "tls-session-caching",
                                          "tls-session-cache-size",
                                          "tls-session-cache-timeout",
                                          "tls-dh-params-file"};

constexpr int64_t kLookNanos = 1'000'000'000;

}  // namespace

TlsDoor::TlsDoor(Config& config, Poller& poller, Clock& clock, Log& log, Handshakes::Done done,
                 std::function<void()> wake)
    : config_(config),
      clock_(clock),
      log_(log),
      handshakes_(poller, clock, std::move(done), std::move(wake),
                  [this](std::string_view line) { log_.Write(LogLevel::kNotice, line); }) {}

Fault TlsDoor::Load() {
  looked_ns_ = clock_.TickNanos();
  files_.Look(config_.settings());  // before they are read: a change meanwhile is noticed
  std::string fault = context_.Load(config_.settings());
  if (!fault.empty()) {
    log_.Write(LogLevel::kWarning, fault);
  } else if (!wire_) {
    wire_ = std::make_unique<TlsWire>();
  }
  return fault;
}

bool TlsDoor::is_wanted() const {
  const Settings& settings = config_.settings();
  return settings.tls_port != 0 || (settings.http_port != 0 && settings.http_tls);
}

// While there is no TLS port their values are only kept, as in Redis.
std::optional<std::string> TlsDoor::OptionChanged(std::string_view option) {
  if (std::ranges::find(kFollowed, option) == std::end(kFollowed)) return std::nullopt;
  const bool is_fine = !is_wanted() || Load().empty();
  return is_fine ? "" : "Unable to update TLS configuration. Check server logs.";
}

void TlsDoor::Reload() {
  if (is_wanted()) LoadAgain("SIGHUP");
}

void TlsDoor::LoadAgain(std::string_view why) {
  const bool is_read = Load().empty();
  log_.Write(is_read ? LogLevel::kNotice : LogLevel::kWarning,
             Concat(why, is_read ? ": the TLS certificates and keys have been read again"
                                 : ": TLS goes on with the certificates and keys from before"));
}

// A certificate and its key are two files: between the two they do not fit, and the ones from
// before stay until the second has come.
void TlsDoor::LookAtFiles() {
  const int64_t now_ns = clock_.TickNanos();
  if (now_ns - looked_ns_ < kLookNanos) return;
  looked_ns_ = now_ns;
  if (files_.Look(config_.settings())) LoadAgain("Changed files");
}

void TlsDoor::Begin(boost::intrusive_ptr<Connection> connection, Peer peer) {
  if (!connection->open()) return;
  LookAtFiles();
  auto tls = std::make_unique<TlsStream>(*context_.get(), *wire_, connection->descriptor());
  connection->Secure(std::move(tls));
  handshakes_.Begin(std::move(connection), std::move(peer));
}

}  // namespace sluice
