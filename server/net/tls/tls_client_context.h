// TlsClientContext: what the client's end of TLS needs before it has a socket: authorities, and a
// certificate of its own where it has one, as TlsWords name them.
//
//   TlsClientContext context;
//   if (Fault fault = context.Load(words)) ...          // reads files: a thread may do it
//   TlsStream stream(context.get(), wire, descriptor);
//   if (Fault fault = NameServer(stream, words, "example.org")) ...
//
// The server's certificate must be signed by an authority that the words name, or the system knows,
// and be for the name by which the server is called; `insecure` looks at neither, `any_name` at the
// authority alone.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "protocol/text/fault.h"
#include "server/config/tls_words.h"

namespace sluice {

class TlsStream;

class TlsClientContext {
 public:
  // A sentence, or empty.
  Fault Load(const TlsWords& words);
  // One recv may bring many records, which OpenSSL keeps in a buffer of its own: for a stream that
  // a loop reads, once a turn.
  void ReadAhead();
  // Requires: Load had no fault.
  ssl_ctx_st& get() const { return *context_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// Makes the stream the client's end, which calls the server by the name that the words have for it,
// or by `host`. A sentence: no certificate can be for that name.
Fault NameServer(TlsStream& stream, const TlsWords& words, const std::string& host);

}  // namespace sluice
