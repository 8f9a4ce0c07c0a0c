// TlsDoor: what a server has for TLS: certificates and keys as the options say, the handshakes of
// those who have come, and what all TLS connections share. Without `tls-port` it has none of it,
// and OpenSSL is not loaded.
//
// Files are read again when an option that names one is set, even to the same name, on SIGHUP, and
// when they have changed: that is looked at as a connection comes, at most once a second.
// Connections that there are go on with what they began with. Files that cannot be read change
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/net/connection.h"
#include "server/net/handshakes.h"
#include "server/net/log.h"
#include "server/net/tls/tls_context.h"
#include "server/net/tls/tls_files.h"
#include "server/net/tls/tls_wire.h"
#include "storage/time/clock.h"

namespace sluice {

class TlsDoor final : private OptionFollower {
 public:
  // `done` gets connections whose handshake is through. `wake`: a handshake can go on.
  TlsDoor(Config& config, Poller& poller, Clock& clock, Log& log, Handshakes::Done done,
          std::function<void()> wake);
  ~TlsDoor() { config_.Unfollow(*this); }

  // Reads the files and follows the options from then on. A sentence, or empty.
  Fault Load();
  void FollowOptions() { config_.Follow(*this); }
  // SIGHUP. The fault is logged.
  void Reload();

  // There is a port that takes TLS.
  bool is_wanted() const;

  // A connection that has come to such a port.
  void Begin(boost::intrusive_ptr<Connection> connection, Peer peer);
  Handshakes& handshakes() { return handshakes_; }
  const Handshakes& handshakes() const { return handshakes_; }

 private:
  std::optional<std::string> OptionChanged(std::string_view option) override;
  // `why` begins the line of the log.
  void LoadAgain(std::string_view why);
  void LookAtFiles();

  Config& config_;
  Clock& clock_;
  Log& log_;
  TlsContext context_;
  TlsFiles files_;
  int64_t looked_ns_ = 0;          // by the clock's ticks
  std::unique_ptr<TlsWire> wire_;  // from the first Load on that went well
  Handshakes handshakes_;
};

}  // namespace sluice
