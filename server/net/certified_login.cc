// See certified_login.h.
#include "server/net/certified_login.h"

#include "server/clients/clients.h"
#include "server/engine/access_control.h"

namespace sluice {

bool LogInCertified(Engine& engine, Session& session, std::string_view user) {
  if (!engine.part<AccessControl>().LogInProven(session, user)) return false;
  engine.part<Clients>().ClassChanged(session);
  return true;
}

}  // namespace sluice
