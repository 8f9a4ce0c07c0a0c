// See tls_context.h. A context is made in a list of steps; the first that fails says why.
//
// Beyond what Redis sets: no renegotiation; no tickets where sessions are not to be cached; buffers
// are given back between two requests; a client's certificate whose common name has a NUL byte in
// it is refused, whoever has signed it.
#include "server/net/tls/tls_context.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/net/tls/openssl.h"
#include "server/net/tls/tls_name.h"

namespace sluice {
namespace {

using Step = std::string (*)(SSL_CTX& context, const Settings& settings);

struct Protocol {
  std::string_view name;
  uint64_t off;  // the option that turns it off
};
constexpr Protocol kProtocols[] = {{"tlsv1", SSL_OP_NO_TLSv1},
                                   {"tlsv1.1", SSL_OP_NO_TLSv1_1},
                                   {"tlsv1.2", SSL_OP_NO_TLSv1_2},
                                   {"tlsv1.3", SSL_OP_NO_TLSv1_3}};
constexpr uint64_t kAllOff =
    SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_TLSv1_2 | SSL_OP_NO_TLSv1_3;

// Tells sessions of this server from those of another program under the same key.
constexpr unsigned char kSessionsOf[] = "sluice";

std::string CheckNames(SSL_CTX&, const Settings& settings) {
  if (settings.tls_cert_file.empty()) return "No tls-cert-file configured!";
  if (settings.tls_key_file.empty()) return "No tls-key-file configured!";
  const bool has_authorities =
      !settings.tls_ca_cert_file.empty() || !settings.tls_ca_cert_dir.empty();
  if (settings.tls_auth_clients != "no" && !has_authorities) {
    return "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-auth-clients is "
           "enabled!";
  }
  return {};
}

std::string SetProtocols(SSL_CTX& context, const Settings& settings) {
  uint64_t off = kAllOff;
  std::string_view left = settings.tls_protocols;
  if (left.empty()) off &= ~(SSL_OP_NO_TLSv1_2 | SSL_OP_NO_TLSv1_3);
  while (!left.empty()) {
    const size_t length = left.find_first_of(" \t");
    const std::string_view word = left.substr(0, length);
    left.remove_prefix(length == left.npos ? left.size() : length + 1);
    if (word.empty()) continue;
    const Protocol* known = nullptr;
    for (const Protocol& protocol : kProtocols) {
      if (IsSameInAnyCase(protocol.name, word)) known = &protocol;
    }
    if (!known) {
      return "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' "
             "and 'TLSv1.3'.";
    }
    off &= ~known->off;
  }
  openssl().SSL_CTX_set_options(&context, off);
  return {};
}

int GivePassPhrase(char* into, int size, int, void* phrase) {
  const auto& given = *static_cast<const std::string*>(phrase);
  if (given.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(into, given.data(), given.size());
  return static_cast<int>(given.size());
}

// A pipe in the place of a file would hold the server up.
std::string CheckFiles(SSL_CTX&, const Settings& settings) {
  for (const std::string* path : {&settings.tls_cert_file, &settings.tls_key_file,
                                  &settings.tls_ca_cert_file, &settings.tls_dh_params_file}) {
    struct stat about;
    if (path->empty() || ::stat(path->c_str(), &about) != 0 || S_ISREG(about.st_mode)) continue;
    return Concat("Failed to load ", *path, ": it is no regular file");
  }
  return {};
}

std::string LoadKeyPair(SSL_CTX& context, const Settings& settings) {
  const std::string& certificate = settings.tls_cert_file;
  if (openssl().SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) <= 0) {
    return Concat("Failed to load certificate: ", certificate, ": ", TakeOpenSslError());
  }
  openssl().SSL_CTX_set_default_passwd_cb(&context, GivePassPhrase);
  openssl().SSL_CTX_set_default_passwd_cb_userdata(
      &context, const_cast<std::string*>(&settings.tls_key_file_pass));
  const std::string& key = settings.tls_key_file;
  const int loaded = openssl().SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM);
  openssl().SSL_CTX_set_default_passwd_cb_userdata(&context, nullptr);
  openssl().SSL_CTX_set_default_passwd_cb(&context, nullptr);
  if (loaded <= 0) return Concat("Failed to load private key: ", key, ": ", TakeOpenSslError());
  return {};
}

int CheckCertificate(int preverified, X509_STORE_CTX* store) {
  if (preverified != 1 || openssl().X509_STORE_CTX_get_error_depth(store) > 0) return preverified;
  if (!HasNulInName(*openssl().X509_STORE_CTX_get_current_cert(store))) return 1;
  openssl().X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

std::string LoadAuthorities(SSL_CTX& context, const Settings& settings) {
  int mode = SSL_VERIFY_NONE;
  if (settings.tls_auth_clients != "no") mode = SSL_VERIFY_PEER;
  if (settings.tls_auth_clients == "yes") mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  openssl().SSL_CTX_set_verify(&context, mode, CheckCertificate);
  const char* const file = OrNull(settings.tls_ca_cert_file);
  const char* const folder = OrNull(settings.tls_ca_cert_dir);
  if (!file && !folder) return {};
  if (openssl().SSL_CTX_load_verify_locations(&context, file, folder) > 0) return {};
  return Concat("Failed to configure CA certificate(s) file/directory: ", TakeOpenSslError());
}

std::string SetCiphers(SSL_CTX& context, const Settings& settings) {
  const char* const ciphers = OrNull(settings.tls_ciphers);
  if (ciphers && !openssl().SSL_CTX_set_cipher_list(&context, ciphers)) {
    openssl().ERR_clear_error();
    return Concat("Failed to configure ciphers: ", settings.tls_ciphers);
  }
  const char* const suites = OrNull(settings.tls_ciphersuites);
  if (suites && !openssl().SSL_CTX_set_ciphersuites(&context, suites)) {
    openssl().ERR_clear_error();
    return Concat("Failed to configure ciphersuites: ", settings.tls_ciphersuites);
  }
  if (settings.tls_prefer_server_ciphers) {
    openssl().SSL_CTX_set_options(&context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  }
  return {};
}

std::string SetSessions(SSL_CTX& context, const Settings& settings) {
  if (!settings.tls_session_caching) {
    openssl().SSL_CTX_ctrl(&context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
    openssl().SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
    openssl().SSL_CTX_set_num_tickets(&context, 0);
    return {};
  }
  // OpenSSL would make two for each handshake, and a connection pool comes back with one.
  openssl().SSL_CTX_set_num_tickets(&context, 1);
  openssl().SSL_CTX_ctrl(&context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_SERVER, nullptr);
  openssl().SSL_CTX_ctrl(&context, SSL_CTRL_SET_SESS_CACHE_SIZE, settings.tls_session_cache_size,
                         nullptr);
  openssl().SSL_CTX_set_timeout(&context, settings.tls_session_cache_timeout);
  openssl().SSL_CTX_set_session_id_context(&context, kSessionsOf, sizeof kSessionsOf - 1);
  return {};
}

std::string LoadDhParameters(SSL_CTX& context, const Settings& settings) {
  const std::string& name = settings.tls_dh_params_file;
  if (name.empty()) return {};
  BIO* const file = openssl().BIO_new_file(name.c_str(), "r");
  if (!file) {
    openssl().ERR_clear_error();
    return Concat("Failed to load ", name, ": ", std::strerror(errno));
  }
  EVP_PKEY* const parameters = openssl().PEM_read_bio_Parameters(file, nullptr);
  openssl().BIO_free(file);
  if (!parameters) return Concat("Failed to read DH params: ", name, ": ", TakeOpenSslError());
  if (openssl().SSL_CTX_set0_tmp_dh_pkey(&context, parameters)) return {};
  openssl().EVP_PKEY_free(parameters);
  return Concat("Failed to load DH params file: ", name, ": ", TakeOpenSslError());
}

std::string SetManners(SSL_CTX& context, const Settings&) {
  openssl().SSL_CTX_set_options(&context, SSL_OP_NO_SSLv3 | SSL_OP_NO_COMPRESSION |
                                              SSL_OP_NO_RENEGOTIATION | SSL_OP_SINGLE_DH_USE);
  openssl().SSL_CTX_ctrl(&context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);
  // One recv may bring many records: OpenSSL takes them from its own buffer.
  openssl().SSL_CTX_ctrl(&context, SSL_CTRL_SET_READ_AHEAD, 1, nullptr);
  return {};
}

// In the order in which Redis complains.
constexpr Step kSteps[] = {CheckNames,      CheckFiles, SetProtocols, SetManners,      LoadKeyPair,
                           LoadAuthorities, SetCiphers, SetSessions,  LoadDhParameters};

}  // namespace

Fault TlsContext::Load(const Settings& settings) {
  if (!openssl().fault.empty()) return openssl().fault;
  openssl().ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> made(openssl().SSL_CTX_new(openssl().TLS_server_method()));
  if (!made) return Concat("Failed to make a TLS context: ", TakeOpenSslError());
  for (const Step step : kSteps) {
    if (std::string fault = step(*made, settings); !fault.empty()) return fault;
  }
  context_ = std::move(made);
  return {};
}

void TlsContext::Free::operator()(SSL_CTX* context) const { openssl().SSL_CTX_free(context); }

}  // namespace sluice
