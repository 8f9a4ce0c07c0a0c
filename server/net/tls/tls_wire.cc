// See tls_wire.h: the calls that OpenSSL makes of a BIO.
#include "server/net/tls/tls_wire.h"

#include <openssl/bio.h>

namespace sluice {
namespace {

TlsSocket& SocketOf(BIO* end) { return *static_cast<TlsSocket*>(BIO_get_data(end)); }

int Read(BIO* end, char* into, int size) {
  bool retry = false;
  BIO_clear_retry_flags(end);
  const int got = SocketOf(end).Receive(into, size, retry);
  if (retry) BIO_set_retry_read(end);
  return got;
}

// Never waits, so a write of OpenSSL's is always done at once.
int Write(BIO* end, const char* bytes, int size) {
  BIO_clear_retry_flags(end);
  SocketOf(end).Gather(bytes, size);
  return size;
}

long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

}  // namespace

TlsWire::TlsWire() : method_(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice")) {
  BIO_meth_set_read(method_.get(), Read);
  BIO_meth_set_write(method_.get(), Write);
  BIO_meth_set_ctrl(method_.get(), Control);
}

BIO* TlsWire::MakeEnd(TlsSocket& socket) const {
  BIO* const end = BIO_new(method_.get());
  if (!end) return nullptr;
  BIO_set_data(end, &socket);
  BIO_set_init(end, 1);
  return end;
}

void TlsWire::Free::operator()(bio_method_st* method) const { BIO_meth_free(method); }

}  // namespace sluice
