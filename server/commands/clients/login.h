// Logging in with a user's name and password, and the names that clients give themselves.
#pragma once

#include <string_view>

#include "server/dispatch/command.h"

namespace sluice {

// One sentence for a wrong name and a wrong password: it does not tell which names there are.
inline constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";
inline constexpr std::string_view kBadClientName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

// Logs the client in as that user; false for a wrong name or password, which changes nothing.
bool LogIn(CommandCall& call, std::string_view user, std::string_view password);
// In a test double the name of a user can choose a space: space:NAME, with any password where there
// is none to be known, or the user `space` with the name for a password. False: it chooses none, or
// the one that the client is in, which is a matter of LogIn. True: the call has been answered, or
// is answered in that space.
bool EntersSpace(CommandCall& call, std::string_view user, std::string_view password);
// Printable ASCII without spaces, as CLIENT LIST needs it; empty is fine.
bool IsClientName(std::string_view name);

}  // namespace sluice
