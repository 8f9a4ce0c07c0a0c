// See access_control.h.
#include "server/engine/access_control.h"

#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/clients/current_client.h"
#include "server/engine/configured_users.h"
#include "server/notify/pubsub.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

constexpr std::string_view kUnreadable =
    "The users were not written, as they would not be read back: ";

}  // namespace

// --- at the start

Fault AccessControl::LoadConfigured() {
  const ConfiguredUsers read = ReadConfiguredUsers(on_.config, on_.users);
  if (!read.faults.empty()) return read.faults.front();
  for (const User& user : read.users) {
    if (!user.enabled()) {  // a missing "on" is likely a slip
      on_.host.Log(LogLevel::kNotice,
                   Concat("The user '", user.name(),
                          "' is disabled (there is no 'on' modifier in the user "
                          "description). Make sure this is not a configuration error."));
    }
    on_.users.Set(user);
  }
  DefaultChanged();
  return {};
}

Fault AccessControl::LoadFileAtStart() {
  if (on_.config.settings().aclfile.empty()) return {};
  const std::string fault = LoadFile();
  return fault.empty() ? fault : Concat("Aborting startup because of ACL errors: ", fault);
}

// --- changes

void AccessControl::Set(const User& draft) {
  const User& user = on_.users.Set(draft);
  if (user.name() == kDefaultUser) DefaultChanged();
  on_.clients.ForEach([&](Session& session) {
    if (session.user == &user) RulesChanged(session);
  });
}

bool AccessControl::Remove(std::string_view name) {
  const std::unique_ptr<User> user = on_.users.Remove(name);
  if (user) CloseThoseOf(*user);
  return user != nullptr;
}

Fault AccessControl::LoadFile() {
  const std::string& path = on_.config.settings().aclfile;
  std::string text;
  if (const int fault = on_.config.disk().Read(path, text); fault != 0) {
    return Concat("Error loading ACLs, opening file '", path, "': ", WhyUnopened(fault));
  }
  const Users::Loaded loaded = on_.users.Read(text, path);
  if (!loaded.faults.empty()) return loaded.faults;
  std::vector<std::string> gone;
  for (const auto& [name, user] : on_.users.all()) {
    if (!loaded.names.contains(name) && name != kDefaultUser) gone.push_back(name);
  }
  for (const std::string& name : gone) Remove(name);
  for (const User& user : loaded.users) on_.users.Set(user);
  DefaultChanged();
  on_.clients.ForEach([this](Session& session) {
    if (session.user && session.user != nobody_.get()) RulesChanged(session);
  });
  return {};
}

Fault AccessControl::SaveFile() {
  std::string text;
  for (const std::string& line : on_.users.Lines()) ConcatTo(text, line, '\n');
  const Users::Loaded loaded = on_.users.Read(text, on_.config.settings().aclfile);
  if (!loaded.faults.empty()) return Concat(kUnreadable, loaded.faults);
  if (const auto unlike = on_.users.FirstUnlike(loaded.users)) {
    return Concat(kUnreadable, "user '", *unlike, "' would be another one");
  }
  const int fault = on_.config.disk().Replace(on_.config.settings().aclfile, text);
  if (fault == 0) return {};
  on_.host.Log(LogLevel::kWarning, Concat("ACL file '", on_.config.settings().aclfile,
                                          "' cannot be written: ", std::strerror(fault)));
  return "There was an error trying to save the ACLs. Please check the server logs for more "
         "information";
}

Fault AccessControl::LinesForConfig(std::vector<std::string>& lines) const {
  if (!on_.config.settings().aclfile.empty()) return {};
  lines = on_.users.ConfigLines();
  std::vector<User> read;
  for (const std::string& text : lines) {
    Config::DirectiveLine line{.directive = "user", .words = {}, .place = std::string(kUnreadable)};
    if (!SplitWords(text, line.words)) return Concat(kUnreadable, "quotes are unbalanced");
    line.words.erase(line.words.begin());
    User& user = read.emplace_back(line.words[0], on_.users.context());
    if (std::string fault = ReadConfiguredUser(line, on_.users, user); !fault.empty()) return fault;
  }
  const std::optional<std::string> unlike = on_.users.FirstUnlike(read);
  return unlike ? Concat(kUnreadable, "user '", *unlike, "' would be another one") : std::string();
}

void AccessControl::RequirePassChanged() {
  on_.users.SetDefaultPassword(on_.config.settings().requirepass);
  DefaultChanged();
}

void AccessControl::DefaultChannelsChanged() {
  on_.users.set_all_channels(on_.config.settings().acl_pubsub_default == "allchannels");
}

// The default user, as it is now, is the user of connections to come.
void AccessControl::DefaultChanged() {
  const User& user = on_.users.default_user();
  on_.clients.SetInitialLogin({.user = &user,
                               .needs_login = !user.enabled() || !user.has_no_password(),
                               .is_restricted = !user.AllowsEverything()});
}

// --- live connections

// One that hears what it may no longer hear is closed, as Redis does: it could not tell otherwise.
void AccessControl::RulesChanged(Session& session) {
  on_.clients.SetUser(session, session.user, !session.user->AllowsEverything());
  if (!(session.conditions & kRestricted)) return;
  if (!MayHear(session) || !MayMonitor(session)) return Close(session);
  if (!session.blocked) return;
  if (const std::string why = WhyNot(session); !why.empty())
    on_.blocked_clients.Refuse(session, why);
}

// Checks the request that it waits with; empty: nothing is against it.
std::string AccessControl::WhyNot(const Session& session) {
  const BlockedCall& blocked = *BlockedCallOf(session);
  const QueuedCommand& request = blocked.asked ? *blocked.asked : blocked.request;
  const Verdict verdict = on_.gate.CheckAndRecord(session, request.request());
  return verdict.allowed() ? std::string() : on_.gate.TextOf(verdict);
}

// O(subscriptions * patterns of the user).
bool AccessControl::MayHear(const Session& session) const {
  if (!session.subscribes()) return true;
  for (const ChannelKind kind :
       {ChannelKind::kChannel, ChannelKind::kPattern, ChannelKind::kShardChannel}) {
    for (const Subscription& each : SubscriptionsOf(session)->of(kind).list) {
      if (!session.user->AllowsChannel(each.channel->name, kind == ChannelKind::kPattern)) {
        return false;
      }
    }
  }
  return true;
}

bool AccessControl::MayMonitor(const Session& session) {
  if (!(session.conditions & kMonitor)) return true;
  const std::string_view words[] = {"MONITOR"};
  return on_.gate.CheckCommand(*session.user, *on_.commands.FindOwn(words[0]), words).allowed();
}

// The client whose command does it still gets the answer.
void AccessControl::Close(Session& session) {
  const bool acts = on_.current_client.IsExecuting(session);
  on_.clients.Close(session, acts ? CloseMode::kAfterReply : CloseMode::kNow);
}

// Until it is closed it may do nothing: what EXEC has still to run is not the default user's.
void AccessControl::CloseThoseOf(const User& gone) {
  on_.clients.ForEach([&](Session& session) {
    if (session.user != &gone) return;
    on_.clients.SetUser(session, &Nobody(), true);
    on_.clients.SetLoggedIn(session, false);
    Close(session);
  });
}

const User& AccessControl::Nobody() {
  if (!nobody_) nobody_ = std::make_unique<const User>("", RuleContext{on_.users.catalogue()});
  return *nobody_;
}

// --- logins

bool AccessControl::LogIn(Session& session, Args args, std::string_view user,
                          std::string_view password) {
  const User* const found = on_.users.Find(user);
  const bool right = (found ? *found : Nobody()).MayLogIn(password);
  if (!found || !right) {
    on_.gate.RecordLogin(session, args, user);
    return false;
  }
  Become(session, *found);
  return true;
}

bool AccessControl::LogInProven(Session& session, std::string_view user) {
  const User* const found = on_.users.Find(user);
  if (!found || !found->enabled()) return false;
  Become(session, *found);
  return true;
}

void AccessControl::Become(Session& session, const User& user) {
  on_.clients.SetUser(session, &user, !user.AllowsEverything());
  on_.clients.SetLoggedIn(session, true);
}

void AccessControl::LogInInitially(Session& session) {
  const InitialLogin& initial = on_.clients.initial_login();
  on_.clients.SetUser(session, initial.user, initial.is_restricted);
  on_.clients.SetLoggedIn(session, !initial.needs_login);
}

}  // namespace sluice
