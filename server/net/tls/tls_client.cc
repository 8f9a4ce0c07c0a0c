// See tls_client.h.
#include "server/net/tls/tls_client.h"

#include "protocol/text/concat.h"
#include "server/net/tls/openssl.h"

namespace sluice {
namespace {

constexpr long kOldestProtocol = TLS1_2_VERSION;

std::string LoadAuthorities(SSL_CTX& context, const TlsWords& words) {
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

std::string LoadOwnCertificate(SSL_CTX& context, const TlsWords& words) {
  const std::string& certificate = words.certificate_file;
  if (certificate.empty()) return words.key_file.empty() ? "" : "--key needs --cert";
  if (openssl().SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) != 1)
    return Concat(certificate, ": holds no certificate: ", TakeOpenSslError());
  const std::string& key = words.key_file.empty() ? certificate : words.key_file;
  if (openssl().SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return Concat(key, ": holds no key of that certificate: ", TakeOpenSslError());
  return {};
}

}  // namespace

Fault TlsClient::Begin(const TlsWords& words, const std::string& host, int descriptor) {
  if (!openssl().fault.empty()) return openssl().fault;
  context_.reset(openssl().SSL_CTX_new(openssl().TLS_client_method()));
  if (!context_) return Concat("TLS cannot be begun: ", TakeOpenSslError());
  openssl().SSL_CTX_ctrl(context_.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, kOldestProtocol, nullptr);
  for (const auto step : {LoadAuthorities, LoadOwnCertificate}) {
    if (std::string fault = step(*context_, words); !fault.empty()) return fault;
  }
  wire_.emplace();
  stream_.emplace(*context_, *wire_, descriptor);
  const std::string& name = words.server_name.empty() ? host : words.server_name;
  if (!stream_->BeClient(name, !words.insecure))
    return Concat("'", name, "' can be the name of no certificate");
  return {};
}

void TlsClient::Free::operator()(ssl_ctx_st* context) const { openssl().SSL_CTX_free(context); }

}  // namespace sluice
