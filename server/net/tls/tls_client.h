// TlsClient: the client's end of TLS over one socket, for a program that asks a server (RedisLink).
//
//   TlsClient client;
//   std::string fault = client.Begin(words, "example.org", descriptor);  // empty: then
//   client.stream().Shake() ... Read ... Write                           // as tls_stream.h has it
//
// The server's certificate must be signed by an authority that the words name, or the system knows,
// and be for the name by which the server is called. `--insecure` looks at neither.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "protocol/text/fault.h"
#include "server/config/tls_words.h"
#include "server/net/tls/tls_stream.h"
#include "server/net/tls/tls_wire.h"

namespace sluice {

class TlsClient {
 public:
  // Once. `host` is a name or an address; the socket stays the caller's. A sentence, or empty.
  Fault Begin(const TlsWords& words, const std::string& host, int descriptor);
  // Requires: Begin had no fault.
  TlsStream& stream() { return *stream_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::optional<TlsWire> wire_;  // made when OpenSSL is there
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::optional<TlsStream> stream_;
};

}  // namespace sluice
