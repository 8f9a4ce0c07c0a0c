// TlsWire: what lies between OpenSSL and the sockets of all TLS connections. OpenSSL reads from the
// socket into its own buffer; what it writes is gathered here, so that all records of a turn leave
// with one send.
//
// `gathered` is empty between two calls of a TlsStream: one wire serves all of them.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

struct bio_method_st;

namespace sluice {

// OpenSSL reads and writes by it: as recv and send, with -1 and `retry` for "not now".
class TlsSocket {
 public:
  virtual ~TlsSocket() = default;
  virtual int Receive(char* into, int size, bool& retry) = 0;
  virtual void Gather(const char* bytes, int size) = 0;
};

class TlsWire {
 public:
  TlsWire();
  // One end of the wire, which the caller owns, or null; `socket` outlives it.
  BIO* MakeEnd(TlsSocket& socket) const;

  std::string gathered;  // records to be sent

 private:
  struct Free {
    void operator()(bio_method_st* method) const;
  };
  std::unique_ptr<bio_method_st, Free> method_;
};

}  // namespace sluice
