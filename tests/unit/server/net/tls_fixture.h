// A client of OpenSSL's and our end of TLS, over a pair of sockets in one thread. The certificate
// is made here.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "server/config/settings.h"
#include "server/net/tls/tls_context.h"
#include "server/net/tls/tls_stream.h"
#include "server/net/tls/tls_wire.h"

namespace sluice {

// Writes a key and a certificate of its own for it.
class OwnCertificate {
 public:
  OwnCertificate() {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
    WriteFiles(*key, *certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~OwnCertificate() {
    std::remove(settings.tls_cert_file.c_str());
    std::remove(settings.tls_key_file.c_str());
  }

  Settings settings;  // that name them

 private:
  void WriteFiles(EVP_PKEY& key, X509& certificate) {
    const std::string base = testing::TempDir() + "sluice-tls-" + std::to_string(getpid());
    settings.tls_auth_clients = "no";
    settings.tls_cert_file = base + ".crt";
    settings.tls_key_file = base + ".key";
    std::FILE* const certificate_file = std::fopen(settings.tls_cert_file.c_str(), "w");
    std::FILE* const key_file = std::fopen(settings.tls_key_file.c_str(), "w");
    PEM_write_X509(certificate_file, &certificate);
    PEM_write_PrivateKey(key_file, &key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(certificate_file);
    std::fclose(key_file);
  }
};

// The client's end; it believes every certificate.
class TlsPeer {
 public:
  explicit TlsPeer(int descriptor)
      : descriptor_(descriptor),
        context_(SSL_CTX_new(TLS_client_method())),
        ssl_(SSL_new(context_)) {
    SSL_set_fd(ssl_, descriptor);
    SSL_set_connect_state(ssl_);
  }
  ~TlsPeer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    Close();
  }
  TlsPeer(const TlsPeer&) = delete;

  bool Shake() { return SSL_do_handshake(ssl_) == 1; }
  void Write(std::string_view text) {
    EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())), std::ssize(text));
  }
  // What can be read now.
  std::string Read() {
    std::string all;
    char piece[16384];
    for (int got = 0; (got = SSL_read(ssl_, piece, sizeof piece)) > 0;) {
      all.append(piece, static_cast<size_t>(got));
    }
    return all;
  }
  void Close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  SSL* ssl() { return ssl_; }

 private:
  int descriptor_;
  SSL_CTX* context_;
  SSL* ssl_;
};

}  // namespace sluice
