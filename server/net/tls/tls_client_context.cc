// See tls_client_context.h.
#include "server/net/tls/tls_client_context.h"

#include <cstring>

#include "protocol/text/concat.h"
#include "server/net/tls/openssl.h"
#include "server/net/tls/tls_stream.h"

namespace sluice {
namespace {

constexpr long kOldestProtocol = TLS1_2_VERSION;

std::string LoadTrusted(SSL_CTX& context, const TlsWords& words) {
  if (words.insecure) return {};
  openssl().SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
  if (words.authority_file.empty() && words.authority_folder.empty()) {
    if (openssl().SSL_CTX_set_default_verify_paths(&context) == 1) return {};
    return Concat("the system's authorities cannot be read: ", TakeOpenSslError());
  }
  if (openssl().SSL_CTX_load_verify_locations(&context, OrNull(words.authority_file),
                                              OrNull(words.authority_folder)) == 1)
    return {};
  const std::string& named =
      words.authority_file.empty() ? words.authority_folder : words.authority_file;
  return Concat(named, ": holds no authorities: ", TakeOpenSslError());
}

int GiveKeyPassword(char* into, int size, int, void* password) {
  const auto& given = *static_cast<const std::string*>(password);
  if (given.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(into, given.data(), given.size());
  return static_cast<int>(given.size());
}

std::string LoadOwnCertificate(SSL_CTX& context, const TlsWords& words) {
  const std::string& certificate = words.certificate_file;
  if (certificate.empty()) return words.key_file.empty() ? "" : "--key needs --cert";
  if (openssl().SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) != 1)
    return Concat(certificate, ": holds no certificate: ", TakeOpenSslError());
  if (words.key_password) {
    openssl().SSL_CTX_set_default_passwd_cb(&context, GiveKeyPassword);
    openssl().SSL_CTX_set_default_passwd_cb_userdata(
        &context, const_cast<std::string*>(&*words.key_password));
  }
  const std::string& key = words.key_file.empty() ? certificate : words.key_file;
  const int loaded = openssl().SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM);
  openssl().SSL_CTX_set_default_passwd_cb_userdata(&context, nullptr);
  openssl().SSL_CTX_set_default_passwd_cb(&context, nullptr);
  if (loaded == 1) return {};
  return Concat(key, ": holds no key of that certificate: ", TakeOpenSslError());
}

}  // namespace

Fault TlsClientContext::Load(const TlsWords& words) {
  if (!openssl().fault.empty()) return openssl().fault;
  context_.reset(openssl().SSL_CTX_new(openssl().TLS_client_method()));
  if (!context_) return Concat("TLS cannot be begun: ", TakeOpenSslError());
  openssl().SSL_CTX_ctrl(context_.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, kOldestProtocol, nullptr);
  for (const auto step : {LoadTrusted, LoadOwnCertificate}) {
    if (std::string fault = step(*context_, words); !fault.empty()) return fault;
  }
  return {};
}

void TlsClientContext::ReadAhead() {
  openssl().SSL_CTX_ctrl(context_.get(), SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);
  openssl().SSL_CTX_ctrl(context_.get(), SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
}

void TlsClientContext::Free::operator()(ssl_ctx_st* context) const {
  openssl().SSL_CTX_free(context);
}

Fault NameServer(TlsStream& stream, const TlsWords& words, const std::string& host) {
  const std::string& name = words.server_name.empty() ? host : words.server_name;
  if (stream.BeClient(name, !words.insecure && !words.any_name)) return {};
  return Concat("'", name, "' can be the name of no certificate");
}

}  // namespace sluice
