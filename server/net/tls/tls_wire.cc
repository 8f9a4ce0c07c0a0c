// See tls_wire.h: the calls that OpenSSL makes of a BIO.
#include "server/net/tls/tls_wire.h"

#include "server/net/tls/openssl.h"

namespace sluice {
namespace {

TlsSocket& SocketOf(BIO* end) { return *static_cast<TlsSocket*>(openssl().BIO_get_data(end)); }

int Read(BIO* end, char* into, int size) {
  bool retry = false;
  openssl().BIO_clear_flags(end, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const int got = SocketOf(end).Receive(into, size, retry);
  if (retry) openssl().BIO_set_flags(end, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  return got;
}

// Never waits, so a write of OpenSSL's is always done at once.
int Write(BIO* end, const char* bytes, int size) {
  openssl().BIO_clear_flags(end, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  SocketOf(end).Gather(bytes, size);
  return size;
}

long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

}  // namespace

TlsWire::TlsWire()
    : method_(
          openssl().BIO_meth_new(openssl().BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice")) {
  openssl().BIO_meth_set_read(method_.get(), Read);
  openssl().BIO_meth_set_write(method_.get(), Write);
  openssl().BIO_meth_set_ctrl(method_.get(), Control);
}

BIO* TlsWire::MakeEnd(TlsSocket& socket) const {
  BIO* const end = openssl().BIO_new(method_.get());
  if (!end) return nullptr;
  openssl().BIO_set_data(end, &socket);
  openssl().BIO_set_init(end, 1);
  return end;
}

void TlsWire::Free::operator()(bio_method_st* method) const { openssl().BIO_meth_free(method); }

}  // namespace sluice
