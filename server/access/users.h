// Users: all users of a server by their names, and the texts that they are loaded from and saved
// as. There is always one called "default": who a connection is before it has logged in.
//
// A user's address stays while it is there: sessions point to it. Code that changes or removes one
// has to see to them (AccessControl).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/access/user.h"

namespace sluice {

inline constexpr std::string_view kDefaultUser = "default";

class Users {
 public:
  using ByName = std::map<std::string, std::unique_ptr<User>, std::less<>>;

  // With a default user who may do everything and has no password.
  explicit Users(const CommandCatalogue& catalogue);

  const CommandCatalogue& catalogue() const { return catalogue_; }
  // acl-pubsub-default: of users and selectors that are made from now on.
  void set_all_channels(bool all) { all_channels_ = all; }
  RuleContext context() const { return {catalogue_, all_channels_}; }

  const User* Find(std::string_view name) const;
  const User& default_user() const { return *default_; }
  const ByName& all() const { return users_; }  // in the order of their names' bytes

  // --- changes
  // A user as that name has it, or a new one, to try rules on.
  User Draft(std::string_view name) const;
  // The user with the draft's rules; it is made where there is none.
  User& Set(const User& draft);
  // Hands it over, so that sessions can be told before it is gone; null when there is none.
  // Requires: not the default user.
  std::unique_ptr<User> Remove(std::string_view name);
  // requirepass: the default user's only password; empty: none is needed.
  void SetDefaultPassword(std::string_view password);

  // --- texts
  // "user NAME on ...": a line for each user, as ACL files have it.
  std::vector<std::string> Lines() const;
  // The same for a configuration file, where quotes mean something: words are quoted that need it.
  std::vector<std::string> ConfigLines() const;
  // Whether these are the users that there are, with the same rights and passwords: asked of what
  // has been read back. One that is not there or differs, by its name; nothing: all are the same.
  std::optional<std::string> FirstUnlike(std::span<const User> read) const;
  // Users made from the lines of an ACL file, or what is wrong with it, in Redis's words; `path`
  // names it. Nothing is changed.
  struct Loaded {
    std::vector<User> users;
    std::set<std::string> names;  // of users and of lines with a fault
    std::string faults;
  };
  Loaded Read(std::string_view text, std::string_view path) const;
  // The rules of a configuration's line, whose first word is the name, for `user`; the fault, or
  // empty. Nothing else is changed.
  Fault ReadLine(std::span<const std::string> words, User& user) const;

 private:
  void ReadFileLine(std::string_view line, std::string_view path, size_t number,
                    Loaded& loaded) const;

  const CommandCatalogue& catalogue_;
  bool all_channels_ = false;
  ByName users_;
  User* default_;
};

}  // namespace sluice
