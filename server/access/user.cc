// See user.h.
#include "server/access/user.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "server/access/password.h"

namespace sluice {
namespace {

constexpr std::string_view kBlanks(" \t\n\v\f\r\0", 7);

}  // namespace

bool IsUserName(std::string_view name) {
  return name.find_first_of(kBlanks) == std::string_view::npos;
}

std::optional<std::vector<std::string>> JoinSelectors(std::span<const std::string_view> rules,
                                                      size_t& unmatched) {
  std::vector<std::string> joined;
  bool open = false;
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string_view rule = rules[i];
    if (rule.starts_with('(') && !rule.ends_with(')')) {
      if (open) joined.pop_back();
      open = true;
      unmatched = i;
    } else if (open) {
      ConcatTo(joined.back(), ' ', rule);
      open = !rule.ends_with(')');
      continue;
    }
    joined.emplace_back(rule);
  }
  if (open) return std::nullopt;
  return joined;
}

// --- passwords

// The digest is made and all are looked at, whatever the user is: the time tells nothing of it.
bool User::MayLogIn(std::string_view password) const {
  const std::string digest = PasswordDigest(password);
  if (!enabled_) return false;
  if (no_password_) return true;
  bool found = false;
  for (const std::string& own : passwords_) found |= SameDigest(own, digest);
  return found;
}

// ">secret" and "#digest" add, "<secret" and "!digest" take away.
RuleFault User::ApplyPassword(std::string_view rule) {
  const char mark = rule.front();
  rule.remove_prefix(1);
  const bool is_digest = mark == '#' || mark == '!';
  if (is_digest && !IsPasswordDigest(rule)) return RuleFault::kBadDigest;
  const std::string digest = is_digest ? std::string(rule) : PasswordDigest(rule);
  const auto there = std::ranges::find(passwords_, digest);
  if (mark == '<' || mark == '!') {
    if (there == passwords_.end()) return RuleFault::kNoSuchPassword;
    passwords_.erase(there);
    return RuleFault::kNone;
  }
  if (there == passwords_.end()) {
    if (passwords_.size() == kPasswordsMax) return RuleFault::kTooMany;
    passwords_.push_back(digest);
  }
  no_password_ = false;
  return RuleFault::kNone;
}

// --- rules

RuleFault User::Apply(std::string_view rule, const RuleContext& context) {
  if (rule.empty()) return RuleFault::kNone;
  if (ApplyWord(rule.substr(0, rule.find('\0')), context)) return RuleFault::kNone;
  if (std::string_view("><#!").find(rule.front()) != std::string_view::npos) {
    return ApplyPassword(rule);
  }
  if (rule.front() == '(' && rule.back() == ')' && rule.size() > 1) {
    return AddSelector(rule.substr(1, rule.size() - 2), context);
  }
  return selectors_[0].Apply(rule, context.catalogue);
}

// False: it is none of a user's own words.
bool User::ApplyWord(std::string_view word, const RuleContext& context) {
  if (IsSameInAnyCase(word, "on") || IsSameInAnyCase(word, "off")) {
    enabled_ = IsSameInAnyCase(word, "on");
  } else if (IsSameInAnyCase(word, "skip-sanitize-payload")) {
    sanitize_ = Sanitize::kSkip;
  } else if (IsSameInAnyCase(word, "sanitize-payload")) {
    sanitize_ = Sanitize::kDo;
  } else if (IsSameInAnyCase(word, "nopass") || IsSameInAnyCase(word, "resetpass")) {
    no_password_ = IsSameInAnyCase(word, "nopass");
    passwords_.clear();
  } else if (IsSameInAnyCase(word, "clearselectors")) {
    selectors_.resize(1, Selector(false));
  } else if (IsSameInAnyCase(word, "reset")) {
    Reset(context);
  } else {
    return false;
  }
  return true;
}

// As it was made, but that its payloads are said to be checked.
void User::Reset(const RuleContext& context) {
  *this = User(std::string(name_), context);
  sanitize_ = Sanitize::kDo;
}

// The rules in parentheses are separated by blanks. One that ends as the selector does would end it
// where a file is read.
RuleFault User::AddSelector(std::string_view rules, const RuleContext& context) {
  Selector selector(context.all_channels);
  while (true) {
    rules.remove_prefix(std::min(rules.find_first_not_of(kBlanks), rules.size()));
    if (rules.empty()) break;
    const size_t end = std::min(rules.find_first_of(kBlanks), rules.size());
    const std::string_view rule = rules.substr(0, end);
    if (rule.ends_with(')')) return RuleFault::kSyntax;
    const RuleFault fault = selector.Apply(rule, context.catalogue);
    if (fault != RuleFault::kNone) return fault;
    rules.remove_prefix(end);
  }
  if (selectors_.size() > kSelectorsMax) return RuleFault::kTooMany;
  selectors_.push_back(std::move(selector));
  return RuleFault::kNone;
}

void User::TakeRulesOf(const User& other) {
  std::string name = std::move(name_);
  *this = other;
  name_ = std::move(name);
}

// --- checks

bool User::AllowsEverything() const {
  return std::ranges::any_of(selectors_, &Selector::AllowsEverything);
}

Verdict User::Check(const AccessRequest& request) const {
  std::span<const AccessedKey> keys;
  bool keys_known = false;
  Verdict told{.denial = Denial::kCommand};
  for (const Selector& selector : selectors_) {
    const Verdict verdict = selector.Check(request, keys, keys_known);
    if (verdict.allowed()) return verdict;
    if (verdict.denial > told.denial ||
        (verdict.denial == told.denial && verdict.position > told.position)) {
      told = verdict;
    }
  }
  told.command = request.command;
  return told;
}

bool User::AllowsOnAnyKey(const AccessRequest& request, uint8_t access) const {
  std::span<const AccessedKey> keys;
  bool keys_known = false;
  return std::ranges::any_of(selectors_, [&](const Selector& selector) {
    return selector.ReachesAnyKey(access) && selector.Check(request, keys, keys_known).allowed();
  });
}

bool User::AllowsChannel(std::string_view channel, bool is_pattern) const {
  return std::ranges::any_of(selectors_, [&](const Selector& selector) {
    return selector.AllowsChannel(channel, is_pattern);
  });
}

// --- as text

std::vector<std::string_view> User::flags() const {
  std::vector<std::string_view> flags = {enabled_ ? "on" : "off"};
  if (no_password_) flags.emplace_back("nopass");
  if (sanitize_ == Sanitize::kSkip) flags.emplace_back("skip-sanitize-payload");
  if (sanitize_ == Sanitize::kDo) flags.emplace_back("sanitize-payload");
  return flags;
}

std::string User::Describe(const CommandCatalogue& catalogue) const {
  std::string text;
  for (const std::string_view flag : flags()) ConcatTo(text, flag, ' ');
  for (const std::string& digest : passwords_) ConcatTo(text, '#', digest, ' ');
  text += own().Describe(catalogue);
  for (const Selector& selector : selectors()) {
    ConcatTo(text, " (", selector.Describe(catalogue), ')');
  }
  return text;
}

}  // namespace sluice
