// LinkListener: hears what becomes of a connection that this server opens to another one. Links
// (links.h) is asked for it, and the host opens it.
//
//   opening ──> LinkOpened ──> LinkReceived ... ──> LinkClosed
//      └──────> LinkFailed
//
// A listener has one link at a time. It may open the next, or give its link up, from within any of
// these calls; they come between two turns, or in one but outside of commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/config/tls_words.h"

namespace sluice {

class Session;

// Where a link goes, and how.
struct LinkTarget {
  std::string host;  // a name or an address
  int port = 0;
  TlsWords tls;
  std::string source_address;  // what it comes from (bind-source-addr); empty: the system chooses
  int64_t timeout_ms = 0;      // of real time, until it is open: names, addresses, handshake
};

class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // The connection stands, and is secured where that was asked for. The session is this server's
  // own, of kind kMasterLink: what is put into its output leaves as any client's. As in Redis,
  // commands that come on it are answered nothing.
  virtual void LinkOpened(Session& session) = 0;
  // There is no connection; `why` is the end of a sentence: "Connection refused".
  virtual void LinkFailed(std::string_view why) = 0;
  // Takes what has come, and returns how much of it: the rest is shown again when the listener
  // calls Links::ReadOn, and the peer is read no further before. Links::Parse ends these calls.
  virtual size_t LinkReceived(Session& session, std::string_view bytes) = 0;
  // Whoever has ended it, but for Links::Close. The session is about to go.
  virtual void LinkClosed(Session& session) = 0;
};

}  // namespace sluice
