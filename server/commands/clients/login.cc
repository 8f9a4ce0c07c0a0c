// See login.h.
#include "server/commands/clients/login.h"

#include <algorithm>
#include <optional>
#include <string>

#include "server/access/users.h"
#include "server/clients/clients.h"
#include "server/engine/access_control.h"
#include "server/test_double/spaces.h"

namespace sluice {
namespace {

// The space that a user's name chooses.
std::optional<std::string_view> SpaceOf(std::string_view user, std::string_view password) {
  constexpr std::string_view kPrefix = "space:";
  if (user == "space") return password;
  if (user.starts_with(kPrefix)) return user.substr(kPrefix.size());
  return std::nullopt;
}

// Where the default user has a password, the name of a space does not stand for it.
bool MayChooseSpace(const CommandCall& call, std::string_view user, std::string_view password) {
  const User& guard = call.part<Users>().default_user();
  return guard.has_no_password() || (user != "space" && guard.MayLogIn(password));
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

bool LogIn(CommandCall& call, std::string_view user, std::string_view password) {
  if (!IsInSpace(call, user, password)) {
    return call.part<AccessControl>().LogIn(call.client, call.args, user, password);
  }
  call.part<AccessControl>().LogInInitially(call.client);
  call.part<Clients>().SetLoggedIn(call.client, true);
  return true;
}

// As Redis's validateClientName: '!' to '~'.
bool IsClientName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace sluice
