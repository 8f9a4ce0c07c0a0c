// See users.h. The sentences about files are Redis's.
#include "server/access/users.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

// Bytes told of a file that has nothing but faults.
constexpr size_t kFaultBytesMax = 16 * 1024;
constexpr std::string_view kLineBlanks = " \t\r\n";

std::string_view Trim(std::string_view text, std::string_view blanks) {
  const size_t from = text.find_first_not_of(blanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

// At each single space, as Redis does it: quotes mean nothing here.
std::vector<std::string_view> SplitAtSpaces(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    if (end == line.size()) return words;
    line.remove_prefix(end + 1);
  }
}

User UnboundedDefault(const CommandCatalogue& catalogue) {
  const RuleContext context{catalogue, false};
  User user(kDefaultUser, context);
  for (const std::string_view rule : {"+@all", "~*", "&*", "on", "nopass"}) {
    user.Apply(rule, context);
  }
  return user;
}

// As it stands, unless the syntax of configuration files would make something else of it.
std::string ConfigWord(std::string_view word) {
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > ' ' && byte != 0x7f && c != '"' && c != '\'';
  };
  return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string(word)
                                                              : QuotedWord(word);
}

// Compares all but the words on payloads, which a line for the default user always has.
bool HaveSameRights(const User& a, const User& b, const CommandCatalogue& catalogue) {
  const auto same = [&catalogue](const Selector& one, const Selector& other) {
    return one.Describe(catalogue) == other.Describe(catalogue);
  };
  return a.enabled() == b.enabled() && a.has_no_password() == b.has_no_password() &&
         a.passwords() == b.passwords() && same(a.own(), b.own()) &&
         std::ranges::equal(a.selectors(), b.selectors(), same);
}

// Rules may hold passwords; what names an unknown command does not.
std::string FaultOfRule(std::string_view rule, RuleFault fault) {
  if (fault != RuleFault::kUnknownName) return Concat(RuleFaultText(fault), ". ");
  return Concat("Error in applying operation '", rule, "': ", RuleFaultText(fault), ". ");
}

}  // namespace

Users::Users(const CommandCatalogue& catalogue) : catalogue_(catalogue) {
  auto user = std::make_unique<User>(UnboundedDefault(catalogue));
  default_ = user.get();
  users_.emplace(kDefaultUser, std::move(user));
}

const User* Users::Find(std::string_view name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : found->second.get();
}

// --- changes

User Users::Draft(std::string_view name) const {
  const User* const there = Find(name);
  return there ? *there : User(name, context());
}

User& Users::Set(const User& draft) {
  std::unique_ptr<User>& place = users_[draft.name()];
  if (place) {
    place->TakeRulesOf(draft);
  } else {
    place = std::make_unique<User>(draft);
  }
  return *place;
}

std::unique_ptr<User> Users::Remove(std::string_view name) {
  const auto found = users_.find(name);
  if (found == users_.end()) return nullptr;
  std::unique_ptr<User> user = std::move(found->second);
  users_.erase(found);
  return user;
}

void Users::SetDefaultPassword(std::string_view password) {
  default_->Apply("resetpass", context());
  default_->Apply(password.empty() ? std::string("nopass") : Concat('>', password), context());
}

// --- texts

std::vector<std::string> Users::Lines() const {
  std::vector<std::string> lines;
  lines.reserve(users_.size());
  for (const auto& [name, user] : users_) {
    lines.push_back(Concat("user ", name, ' ', user->Describe(catalogue_)));
  }
  return lines;
}

std::vector<std::string> Users::ConfigLines() const {
  std::vector<std::string> lines;
  for (const auto& [name, user] : users_) {
    std::string line = Concat("user ", ConfigWord(name));
    const std::string rules = user->Describe(catalogue_);
    // No rule has a blank in it, so the words of a line stand between blanks.
    for (const std::string_view rule : SplitAtSpaces(rules)) ConcatTo(line, ' ', ConfigWord(rule));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<std::string> Users::FirstUnlike(std::span<const User> read) const {
  for (const User& user : read) {
    if (!users_.contains(user.name())) return user.name();
  }
  for (const auto& [name, user] : users_) {
    const auto found = std::ranges::find(read, std::string_view(name), &User::name);
    if (found == read.end() || !HaveSameRights(*user, *found, catalogue_)) return name;
  }
  return std::nullopt;
}

// Every line is read, so that all faults are told at once. Without a line for it the default user
// may do everything, as at the start.
Users::Loaded Users::Read(std::string_view text, std::string_view path) const {
  Loaded loaded;
  text = text.substr(0, text.find('\0'));
  for (size_t number = 1; !text.empty() && loaded.faults.size() < kFaultBytesMax; ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    ReadFileLine(Trim(text.substr(0, end), kLineBlanks), path, number, loaded);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!loaded.faults.empty()) {
    loaded.faults +=
        "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";
    loaded.users.clear();
  } else if (std::ranges::find(loaded.users, kDefaultUser, &User::name) == loaded.users.end()) {
    loaded.users.push_back(UnboundedDefault(catalogue_));
  }
  return loaded;
}

// Tells the unknown names of a line with faults, and the first fault of another kind.
void Users::ReadFileLine(std::string_view line, std::string_view path, size_t number,
                         Loaded& loaded) const {
  if (line.empty()) return;
  const std::vector<std::string_view> words = SplitAtSpaces(line);
  if (words[0] != "user" || words.size() < 2) {
    ConcatTo(loaded.faults, path, ':', number,
             " should start with user keyword followed by the username. ");
    return;
  }
  if (!IsUserName(words[1])) {
    ConcatTo(loaded.faults, '\'', path, ':', number, ": username '", words[1],
             "' contains invalid characters. ");
    return;
  }
  if (!loaded.names.insert(std::string(words[1])).second) {
    ConcatTo(loaded.faults, "WARNING: Duplicate user '", words[1], "' found on line ", number,
             ". ");
    return;
  }
  size_t unmatched = 0;
  const auto rules = JoinSelectors(std::span(words).subspan(2), unmatched);
  if (!rules) {
    ConcatTo(loaded.faults, path, ':', number, ": Unmatched parenthesis in selector definition. ");
    return;
  }
  User user(words[1], context());
  bool told = false;
  for (const std::string& rule : *rules) {
    const RuleFault fault = user.Apply(Trim(rule, "\t\r\n"), context());
    if (fault == RuleFault::kNone) continue;
    if (fault != RuleFault::kUnknownName && std::exchange(told, true)) continue;
    ConcatTo(loaded.faults, path, ':', number, ": ", FaultOfRule(rule, fault));
  }
  if (loaded.faults.empty()) loaded.users.push_back(std::move(user));
}

Fault Users::ReadLine(std::span<const std::string> words, User& user) const {
  const std::vector<std::string_view> views(words.begin() + 1, words.end());
  size_t unmatched = 0;
  const auto rules = JoinSelectors(views, unmatched);
  if (!rules) return "Unmatched parenthesis in selector definition";
  for (const std::string& rule : *rules) {
    const RuleFault fault = user.Apply(rule, context());
    if (fault == RuleFault::kNone) continue;
    const bool may_be_secret =
        std::string_view("><#!").find(rule.front()) != std::string_view::npos;
    return may_be_secret ? std::string(RuleFaultText(fault))
                         : Concat("'", rule, "': ", RuleFaultText(fault));
  }
  return {};
}

}  // namespace sluice
