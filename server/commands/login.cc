#include "server/commands/login.h"

#include <algorithm>

#include "server/engine/engine.h"

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

void SetLoggedIn(Session& client, bool in) {
  client.authenticated = in;
  if (in) {
    client.conditions &= ~kNeedsLogin;
  } else {
    client.conditions |= kNeedsLogin;
  }
}

}  // namespace

bool LogIn(CommandCall& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.engine.settings().requirepass;
  if (user != "default") return false;
  if (!secret.empty() && !EqualsInConstantTime(secret, password)) return false;
  SetLoggedIn(call.client, true);
  return true;
}

void LogInAsAtTheStart(CommandCall& call) {
  SetLoggedIn(call.client, call.engine.settings().requirepass.empty());
}

bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace sluice
