// See access_gate.h. A look at a request costs the extraction of its keys, and a glob for each key
// and pattern; a selector for all keys spares both.
#include "server/dispatch/access_gate.h"

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// As Redis: what of the data is answered is read, what is changed in any way is written.
uint8_t AccessOfFlags(uint16_t flags) {
  uint8_t access = 0;
  if (flags & kKeyAccess) access |= kReads;
  if (flags & (kKeyInsert | kKeyDelete | kKeyUpdate)) access |= kWrites;
  return access;
}

AccessContext ContextOf(const Session& session) {
  if (session.conditions & kInScript) return AccessContext::kScript;
  return session.in_multi() || session.in_exec() ? AccessContext::kMulti : AccessContext::kTopLevel;
}

}  // namespace

std::string AccessGate::TextOf(const Verdict& verdict) const {
  switch (verdict.denial) {
    case Denial::kCommand:
      return Concat("NOPERM this user has no permissions to run the '",
                    commands_.catalogue().NameOf(verdict.command), "' command");
    case Denial::kKey:
      return "NOPERM this user has no permissions to access one of the keys used as arguments";
    case Denial::kChannel:
      return "NOPERM this user has no permissions to access one of the channels used as arguments";
    default:
      return {};
  }
}

std::span<const AccessedKey> AccessGate::KeysOf(const Request& request) {
  uses_.clear();
  keys_.clear();
  const Command& command = request.command;
  if (command.sole_key && static_cast<size_t>(command.first_key) < request.args.size()) {
    keys_.push_back(SoleKeyOf(request));
    return keys_;
  }
  // A request without a sense, too: the keys that it names in front may be all that it needs.
  FindKeys(request, uses_);
  for (const KeyUse& use : uses_) {
    keys_.push_back({static_cast<size_t>(use.position), AccessOfFlags(use.flags)});
  }
  return keys_;
}

AccessedKey AccessGate::SoleKeyOf(const Request& request) {
  const Command& command = request.command;
  const bool varies = (*command.sole_key & kKeyVariableFlags) && command.spec->key_flags;
  const uint16_t flags = varies ? command.spec->key_flags(request) : *command.sole_key;
  return {static_cast<size_t>(command.first_key), AccessOfFlags(flags)};
}

// Most requests have one key, which the user's own rules allow: that is seen without a look at all
// else. False says nothing.
bool AccessGate::AllowsPlainly(const User& user, const Request& request) {
  const Command& command = request.command;
  if (!command.sole_key || command.spec->channels.begin != 0) return false;
  if (static_cast<size_t>(command.first_key) >= request.args.size()) return false;
  const AccessedKey key = SoleKeyOf(request);
  return user.own().AllowsPlainly(command.number, request.args[key.position], key.access);
}

AccessRequest AccessGate::AccessOf(const Request& request, Keys keys) {
  const CommandSpec& spec = *request.command.spec;
  const auto begin = static_cast<size_t>(spec.channels.begin);
  const size_t last = spec.channels.to_end ? request.args.size() : begin + 1;
  return {.command = request.command.number,
          .always_runs = (spec.flags & kNoAuth) != 0,
          .args = request.args,
          .keys = keys,
          .channels_begin = begin,
          .channels_end = begin == 0 ? 0 : last,
          .channels_are_patterns = spec.channels.patterns};
}

Verdict AccessGate::Check(const User& user, const Request& request) {
  const auto keys = [&] { return KeysOf(request); };
  const Verdict verdict = user.Check(AccessOf(request, keys));
  const std::optional<Request> inner = request.inner();
  if (!inner || !verdict.allowed()) return verdict;
  Verdict of_inner = Check(user, *inner);
  if (!of_inner.allowed())
    of_inner.position += static_cast<size_t>(request.command.spec->inner_command);
  return of_inner;
}

Verdict AccessGate::CheckCommand(const User& user, const Command& command, Args words) const {
  const auto keys = [] { return std::span<const AccessedKey>(); };
  return user.Check({.command = command.number,
                     .always_runs = (command.spec->flags & kNoAuth) != 0,
                     .args = words,
                     .keys = keys});
}

bool AccessGate::MayReadAnyKey(const Session& session, const Request& request) {
  if (!(session.conditions & kRestricted)) return true;
  const auto keys = [&] { return KeysOf(request); };
  return session.user->AllowsOnAnyKey(AccessOf(request, keys), kReads);
}

bool AccessGate::AllowsOnEveryKey(const User& user, const Command& command) const {
  const auto keys = [] { return std::span<const AccessedKey>(); };
  const AccessRequest request = {.command = command.number, .args = {}, .keys = keys};
  return user.AllowsOnAnyKey(request, kReads);
}

Verdict AccessGate::CheckAndRecord(const Session& session, const Request& request) {
  if (!(session.conditions & kRestricted)) return {};
  if (AllowsPlainly(*session.user, request)) [[likely]]
    return {};
  const Verdict verdict = Check(*session.user, request);
  if (verdict.allowed()) return verdict;
  const std::string_view object = verdict.denial == Denial::kCommand
                                      ? commands_.catalogue().NameOf(verdict.command)
                                      : request.args[verdict.position];
  Record(session, request.args, verdict.denial, object, session.user->name());
  return verdict;
}

void AccessGate::RecordLogin(const Session& session, Args args, std::string_view user) {
  Record(session, args, Denial::kAuth, args[0], user);
}

// A script's command is recorded with the script's caller as its client.
void AccessGate::Record(const Session& session, Args args, Denial reason, std::string_view object,
                        std::string_view user) {
  const RunningScript* const script = script_.now_running();
  const bool in_script = (session.conditions & kInScript) && script;
  const Session& client = in_script ? *script->caller : session;
  log_.Add({.reason = reason,
            .context = ContextOf(session),
            .object = std::string(object.substr(0, AccessLog::kWordBytesMax)),
            .user = std::string(user.substr(0, AccessLog::kWordBytesMax)),
            .client = describer_.Describe(client, args),
            .at_ms = clock_.now().ms()});
}

}  // namespace sluice
