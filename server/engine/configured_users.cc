// See configured_users.h.
#include "server/engine/configured_users.h"

#include <set>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

constexpr std::string_view kBothSources =
    "there are users in the configuration and in aclfile: put all of them into one of the two";

}  // namespace

Fault ReadConfiguredUser(const Config::DirectiveLine& line, const Users& context, User& user) {
  if (user.name() == kDefaultUser) user.Apply("reset", context.context());
  const std::string fault = context.ReadLine(line.words, user);
  if (fault.empty()) return {};
  return Concat(line.place, ": user '", user.name(), "', ", fault);
}

ConfiguredUsers ReadConfiguredUsers(const Config& config, const Users& context) {
  ConfiguredUsers read;
  std::set<std::string> names;
  const bool has_file = !config.settings().aclfile.empty();
  for (const Config::DirectiveLine& line : config.LinesOf("user")) {
    const std::string& name = line.words[0];
    std::string fault;
    if (has_file) {
      fault = Concat(line.place, ": ", kBothSources);
    } else if (!IsUserName(name)) {
      fault = Concat(line.place, ": Spaces not allowed in ACL usernames");
    } else if (!names.insert(name).second) {
      fault = Concat(line.place, ": user '", name,
                     "': Duplicate user found. A user can only be defined once in config files");
    } else {
      User user(name, context.context());
      fault = ReadConfiguredUser(line, context, user);
      if (fault.empty()) read.users.push_back(std::move(user));
    }
    if (!fault.empty()) read.faults.push_back(std::move(fault));
  }
  return read;
}

}  // namespace sluice
