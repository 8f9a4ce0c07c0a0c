// See login.h.
#include "server/commands/clients/login.h"

#include <algorithm>

#include "server/clients/clients.h"

namespace sluice {
namespace {

// Looks at every byte given, whatever it finds: the time tells nothing of the password but that it
// was compared.
bool EqualsInConstantTime(std::string_view secret, std::string_view given) {
  size_t different = secret.size() ^ given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    const char byte = secret.empty() ? '\0' : secret[i % secret.size()];
    different |= static_cast<unsigned char>(byte ^ given[i]);
  }
  return different == 0;
}

void SetLoggedIn(CommandCall& call, bool in) {
  Session& client = call.client;
  client.authenticated = in;
  if (in) {
    client.conditions &= ~kNeedsLogin;
  } else {
    client.conditions |= kNeedsLogin;
    client.needs_login_since_ms = call.now.ms();
  }
  call.part<Clients>().ClassChanged(client);
}

}  // namespace

bool LogIn(CommandCall& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.settings.requirepass;
  if (user != "default") return false;
  if (!secret.empty() && !EqualsInConstantTime(secret, password)) return false;
  SetLoggedIn(call, true);
  return true;
}

void LogInAsAtTheStart(CommandCall& call) { SetLoggedIn(call, call.settings.requirepass.empty()); }

bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace sluice
