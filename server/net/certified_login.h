// CertifiedLogin: a client whose certificate names a user needs no password to be that user
// (tls-auth-clients-user CN). Whoever signs certificates for the server gives its rights away, so
// it is off unless the configuration says otherwise.
#pragma once

#include <string_view>

#include "server/clients/session.h"
#include "server/engine/engine.h"

namespace sluice {

// Logs the session in as that user; false: there is no such user, or it is off, and nothing has
// changed.
bool LogInCertified(Engine& engine, Session& session, std::string_view user);

}  // namespace sluice
