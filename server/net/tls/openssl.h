// OpenSsl: the functions of OpenSSL that the server calls, found in the system's libssl and
// libcrypto when the first TLS port is opened.
//
// A program that is linked with them has 5 MB more to map and to relocate at each start, which
// takes longer than all the rest of it. One that starts without TLS never looks for them, and one
// with TLS runs on the version that the system keeps safe. SHA-1 and SHA-256 are linked: they need
// nothing else of it. Only a program without shared libraries (SLUICE_STATIC) has all of it inside.
//
//   if (!openssl().fault.empty()) ...                                  // before all else
//   openssl().SSL_CTX_new(openssl().TLS_server_method())
//
// Macros of OpenSSL's headers over other functions are to be written as those.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <string>

namespace sluice {

// FUNCTION(library, name)
#define SLUICE_OPENSSL_FUNCTIONS(FUNCTION)               \
  FUNCTION(kCrypto, ASN1_STRING_to_UTF8)                 \
  FUNCTION(kCrypto, BIO_clear_flags)                     \
  FUNCTION(kCrypto, BIO_free)                            \
  FUNCTION(kCrypto, BIO_get_data)                        \
  FUNCTION(kCrypto, BIO_get_new_index)                   \
  FUNCTION(kCrypto, BIO_meth_free)                       \
  FUNCTION(kCrypto, BIO_meth_new)                        \
  FUNCTION(kCrypto, BIO_meth_set_ctrl)                   \
  FUNCTION(kCrypto, BIO_meth_set_read)                   \
  FUNCTION(kCrypto, BIO_meth_set_write)                  \
  FUNCTION(kCrypto, BIO_new)                             \
  FUNCTION(kCrypto, BIO_new_file)                        \
  FUNCTION(kCrypto, BIO_set_data)                        \
  FUNCTION(kCrypto, BIO_set_flags)                       \
  FUNCTION(kCrypto, BIO_set_init)                        \
  FUNCTION(kCrypto, CRYPTO_free)                         \
  FUNCTION(kCrypto, ERR_clear_error)                     \
  FUNCTION(kCrypto, ERR_error_string_n)                  \
  FUNCTION(kCrypto, ERR_get_error)                       \
  FUNCTION(kCrypto, ERR_peek_last_error)                 \
  FUNCTION(kCrypto, ERR_reason_error_string)             \
  FUNCTION(kCrypto, EVP_PKEY_free)                       \
  FUNCTION(kCrypto, PEM_read_bio_Parameters)             \
  FUNCTION(kCrypto, X509_NAME_ENTRY_get_data)            \
  FUNCTION(kCrypto, X509_NAME_get_entry)                 \
  FUNCTION(kCrypto, X509_NAME_get_index_by_NID)          \
  FUNCTION(kCrypto, X509_STORE_CTX_get_current_cert)     \
  FUNCTION(kCrypto, X509_STORE_CTX_get_error_depth)      \
  FUNCTION(kCrypto, X509_STORE_CTX_set_error)            \
  FUNCTION(kCrypto, X509_get_subject_name)               \
  FUNCTION(kCrypto, X509_verify_cert_error_string)       \
  FUNCTION(kSsl, SSL_CTX_ctrl)                           \
  FUNCTION(kSsl, SSL_CTX_free)                           \
  FUNCTION(kSsl, SSL_CTX_load_verify_locations)          \
  FUNCTION(kSsl, SSL_CTX_new)                            \
  FUNCTION(kSsl, SSL_CTX_set0_tmp_dh_pkey)               \
  FUNCTION(kSsl, SSL_CTX_set_cipher_list)                \
  FUNCTION(kSsl, SSL_CTX_set_ciphersuites)               \
  FUNCTION(kSsl, SSL_CTX_set_default_passwd_cb)          \
  FUNCTION(kSsl, SSL_CTX_set_default_passwd_cb_userdata) \
  FUNCTION(kSsl, SSL_CTX_set_default_verify_paths)       \
  FUNCTION(kSsl, SSL_CTX_set_num_tickets)                \
  FUNCTION(kSsl, SSL_CTX_set_options)                    \
  FUNCTION(kSsl, SSL_CTX_set_session_id_context)         \
  FUNCTION(kSsl, SSL_CTX_set_timeout)                    \
  FUNCTION(kSsl, SSL_CTX_set_verify)                     \
  FUNCTION(kSsl, SSL_CTX_use_PrivateKey_file)            \
  FUNCTION(kSsl, SSL_CTX_use_certificate_chain_file)     \
  FUNCTION(kSsl, SSL_do_handshake)                       \
  FUNCTION(kSsl, SSL_free)                               \
  FUNCTION(kSsl, SSL_get0_peer_certificate)              \
  FUNCTION(kSsl, SSL_get_error)                          \
  FUNCTION(kSsl, SSL_get_verify_result)                  \
  FUNCTION(kSsl, SSL_has_pending)                        \
  FUNCTION(kSsl, SSL_new)                                \
  FUNCTION(kSsl, SSL_read_ex)                            \
  FUNCTION(kSsl, SSL_set1_host)                          \
  FUNCTION(kSsl, SSL_set_accept_state)                   \
  FUNCTION(kSsl, SSL_set_bio)                            \
  FUNCTION(kSsl, SSL_set_connect_state)                  \
  FUNCTION(kSsl, SSL_set_msg_callback)                   \
  FUNCTION(kSsl, SSL_ctrl)                               \
  FUNCTION(kSsl, SSL_shutdown)                           \
  FUNCTION(kSsl, SSL_write_ex)                           \
  FUNCTION(kSsl, TLS_client_method)                      \
  FUNCTION(kSsl, TLS_server_method)

struct OpenSsl {
  // A sentence: the libraries are not there, or are of another version than the one whose headers
  // this was compiled with. Nothing may be called then.
  std::string fault;

#define SLUICE_MEMBER(library, name) decltype(&::name) name = nullptr;
  SLUICE_OPENSSL_FUNCTIONS(SLUICE_MEMBER)
#undef SLUICE_MEMBER
};

// Found by the first call, and constant from then on, as what a linker finds would be: OpenSSL
// calls back without a word of who has called it. The libraries stay in the process.
const OpenSsl& openssl();

// Takes OpenSSL's sentence on its last failure; its queue of errors is empty then.
std::string TakeOpenSslError();

// As OpenSSL takes a name that may be missing.
inline const char* OrNull(const std::string& name) { return name.empty() ? nullptr : name.c_str(); }

}  // namespace sluice
