// See tls_name.h. A subject is a list of named fields, of which more than one may be a CN.
#include "server/net/tls/tls_name.h"

#include <string_view>

#include "server/net/tls/openssl.h"

namespace sluice {
namespace {

std::string TextOf(const X509_NAME& subject, int index) {
  const ASN1_STRING* const field =
      openssl().X509_NAME_ENTRY_get_data(openssl().X509_NAME_get_entry(&subject, index));
  unsigned char* text = nullptr;
  const int length = openssl().ASN1_STRING_to_UTF8(&text, field);
  if (length < 0) {
    openssl().ERR_clear_error();
    return {};
  }
  std::string copy(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
  openssl().CRYPTO_free(text, OPENSSL_FILE, OPENSSL_LINE);
  return copy;
}

// Calls `visit` with each common name, in order.
template <typename Visit>
void ForEachName(const X509& certificate, Visit visit) {
  X509_NAME* const subject = openssl().X509_get_subject_name(&certificate);
  if (!subject) return;
  int index = -1;
  while ((index = openssl().X509_NAME_get_index_by_NID(subject, NID_commonName, index)) >= 0) {
    visit(TextOf(*subject, index));
  }
}

bool HasNul(std::string_view text) { return text.find('\0') != text.npos; }

}  // namespace

std::string CommonName(const X509& certificate) {
  std::string last;
  ForEachName(certificate, [&](std::string name) { last = std::move(name); });
  return HasNul(last) ? std::string() : last;
}

bool HasNulInName(const X509& certificate) {
  bool found = false;
  ForEachName(certificate, [&](const std::string& name) { found |= HasNul(name); });
  return found;
}

}  // namespace sluice
