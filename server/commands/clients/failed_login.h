// The answer to a wrong password. With `failed-login-delay` it comes so many ms later, so that
// guessing takes time; the client is blocked until then, and others are served.
//
// A client that guesses over many connections is bounded by maxclients-per-ip.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

void RefuseLogin(CommandCall& call);

}  // namespace sluice
