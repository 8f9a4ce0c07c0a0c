// A User: a name, passwords, and what it may do. Rules are applied one after the other, as ACL
// SETUSER and the lines of an ACL file give them:
//
//   User user("app", /*all_channels=*/false);
//   for (rule : {"on", ">secret", "~app:*", "+@all", "-@dangerous"}) user.Apply(rule, ...);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/selector.h"

namespace sluice {

// Other things than its text that a rule depends on.
struct RuleContext {
  const CommandCatalogue& catalogue;
  bool all_channels = false;  // acl-pubsub-default: what a selector begins with
};

// Copies are cheap next to what they are for: rules are tried on one, and take effect as a whole.
class User {
 public:
  static constexpr size_t kSelectorsMax = 256;
  static constexpr size_t kPasswordsMax = 4096;

  // Off, without a password and without rights.
  User(std::string_view name, const RuleContext& context)
      : name_(name), selectors_{Selector(context.all_channels)} {}

  const std::string& name() const { return name_; }
  bool enabled() const { return enabled_; }
  bool has_no_password() const { return no_password_; }
  bool MayLogIn(std::string_view password) const;
  // All commands, keys and channels: nothing need be asked.
  bool AllowsEverything() const;

  // --- rules
  // An empty rule says nothing. A rule that is none of a user's own words is for its selector.
  RuleFault Apply(std::string_view rule, const RuleContext& context);
  // The passwords and rules of another one; the name stays.
  void TakeRulesOf(const User& other);

  // --- checks
  // Allowed when one selector allows all of it. Else the gravest of their reasons is told, and of
  // two of one kind the one further back.
  Verdict Check(const AccessRequest& request) const;
  // Whether the request is allowed by rules that also allow such access to any key.
  bool AllowsOnAnyKey(const AccessRequest& request, uint8_t access) const;
  bool AllowsChannel(std::string_view channel, bool is_pattern) const;

  // --- as text
  // "on nopass ~* &* +@all", as a file has it behind the name.
  std::string Describe(const CommandCatalogue& catalogue) const;
  std::vector<std::string_view> flags() const;
  const std::vector<std::string>& passwords() const { return passwords_; }  // digests
  const Selector& own() const { return selectors_[0]; }
  std::span<const Selector> selectors() const { return std::span(selectors_).subspan(1); }

 private:
  enum class Sanitize : uint8_t { kUnsaid, kSkip, kDo };

  bool ApplyWord(std::string_view word, const RuleContext& context);
  RuleFault ApplyPassword(std::string_view rule);
  RuleFault AddSelector(std::string_view rules, const RuleContext& context);
  void Reset(const RuleContext& context);

  std::string name_;
  bool enabled_ = false;
  bool no_password_ = false;
  Sanitize sanitize_ =
      Sanitize::kUnsaid;  // said and shown, as in Redis; payloads are always checked
  std::vector<std::string> passwords_;
  std::vector<Selector> selectors_;  // its own first
};

// Rules of which a selector in parentheses may lie over several: "(+get", "~a)" is one rule. None:
// `unmatched` is the number of the one that opens and is not closed.
std::optional<std::vector<std::string>> JoinSelectors(std::span<const std::string_view> rules,
                                                      size_t& unmatched);
// A user's name has no blanks and no NULs.
bool IsUserName(std::string_view name);

}  // namespace sluice
