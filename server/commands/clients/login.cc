// See login.h.
#include "server/commands/clients/login.h"

#include <algorithm>
#include <optional>
#include <string>

#include "server/clients/clients.h"
#include "server/test_double/spaces.h"

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

// The time at which a login became due is kept: such a connection is closed when it does not come.
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

// The space that a user's name chooses.
std::optional<std::string_view> SpaceOf(std::string_view user, std::string_view password) {
  constexpr std::string_view kPrefix = "space:";
  if (user == "space") return password;
  if (user.starts_with(kPrefix)) return user.substr(kPrefix.size());
  return std::nullopt;
}

// Where there is a password, the name of a space does not stand for it.
bool MayChooseSpace(const CommandCall& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.settings.requirepass;
  return secret.empty() || (user != "space" && EqualsInConstantTime(secret, password));
}

bool IsInSpace(const CommandCall& call, std::string_view user, std::string_view password) {
  const Spaces* const spaces = call.parts.Find<Spaces>();
  return spaces && SpaceOf(user, password) == spaces->name() &&
         MayChooseSpace(call, user, password);
}

}  // namespace

bool EntersSpace(CommandCall& call, std::string_view user, std::string_view password) {
  Spaces* const spaces = call.parts.Find<Spaces>();
  if (!spaces) return false;
  const std::optional<std::string_view> name = SpaceOf(user, password);
  if (!name || *name == spaces->name() || !MayChooseSpace(call, user, password)) return false;
  std::string fault = SpaceNameFault(*name);
  if (fault.empty()) fault = spaces->Enter(call, *name);
  if (!fault.empty()) call.reply.Error(fault);
  return true;
}

// There is one user, "default". Without a password every password is right, as with Redis's nopass.
bool LogIn(CommandCall& call, std::string_view user, std::string_view password) {
  const std::string& secret = call.settings.requirepass;
  if (IsInSpace(call, user, password)) {
    SetLoggedIn(call, true);
    return true;
  }
  if (user != "default") return false;
  if (!secret.empty() && !EqualsInConstantTime(secret, password)) return false;
  SetLoggedIn(call, true);
  return true;
}

void LogInAsAtTheStart(CommandCall& call) { SetLoggedIn(call, call.settings.requirepass.empty()); }

// As Redis's validateClientName: '!' to '~'.
bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace sluice
