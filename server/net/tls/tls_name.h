// Whom a certificate names: the common name (CN) of its subject.
#pragma once

#include <openssl/types.h>

#include <string>

namespace sluice {

// The last common name in UTF-8, which is the most specific one. Empty: there is none, or one that
// is no text.
std::string CommonName(const X509& certificate);
// Whether a common name of it has a NUL byte, at which other programs would take it to end.
bool HasNulInName(const X509& certificate);

}  // namespace sluice
