// See usage_grammar.h. A recursive descent over the words of the usage. "key [key ...]" is found by
// comparing the words in the brackets with those before them.
//
// It need not be fast: COMMAND DOCS is the only caller, and each usage has been checked by the
// compiler. The hard part is what brackets mean: "[x]" is an option, "[x ...]" behind the same x is
// a repetition, and "<x | y>" is a choice.
#include "server/commands/admin/usage_grammar.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "protocol/text/letters.h"
#include "server/dispatch/usage_words.h"

namespace sluice {
namespace {

using Words = std::span<const std::string_view>;

// The name of a value, and what clients take it for.
struct NamedType {
  std::string_view name;
  UsageType type;
};

// Types of values, by the names that the rows give them; other values are strings.
constexpr NamedType kValueTypes[] = {
    {"bit", UsageType::kInteger},
    {"client-id", UsageType::kInteger},
    {"count", UsageType::kInteger},
    {"cursor", UsageType::kInteger},
    {"db", UsageType::kInteger},
    {"decrement", UsageType::kInteger},
    {"destination", UsageType::kKey},
    {"destination-db", UsageType::kInteger},
    {"destkey", UsageType::kKey},
    {"dst", UsageType::kKey},
    {"end", UsageType::kInteger},
    {"increment", UsageType::kInteger},
    {"index", UsageType::kInteger},
    {"index1", UsageType::kInteger},
    {"index2", UsageType::kInteger},
    {"key", UsageType::kKey},
    {"key1", UsageType::kKey},
    {"key2", UsageType::kKey},
    {"len", UsageType::kInteger},
    {"milliseconds", UsageType::kInteger},
    {"newkey", UsageType::kKey},
    {"numkeys", UsageType::kInteger},
    {"offset", UsageType::kInteger},
    {"pattern", UsageType::kPattern},
    {"protover", UsageType::kInteger},
    {"seconds", UsageType::kInteger},
    {"source", UsageType::kKey},
    {"src", UsageType::kKey},
    {"start", UsageType::kInteger},
    {"timeout", UsageType::kInteger},
    {"unix-time-milliseconds", UsageType::kUnixTime},
    {"unix-time-seconds", UsageType::kUnixTime},
    {"version", UsageType::kInteger},
};

// How a choice is called that begins with this word; others bear the names of all they offer.
constexpr std::pair<std::string_view, std::string_view> kChoices[] = {
    {"EX", "expiration"},
    {"NX", "condition"},
};

// A joint name beyond that helps no reader; the first alternative's stands for all.
constexpr size_t kNameMax = 40;

// "@6.2.0" or "@-6.2.0".
void SetVersion(UsageNode& node, std::string_view word) {
  word.remove_prefix(1);
  if (!word.starts_with('-')) {
    node.since = word;
  } else {
    node.deprecated_since = word.substr(1);
  }
}

// The type that is written wins over the one that the name suggests.
UsageType TypeOf(const UsageValue& value) {
  for (const UsageType type :
       {UsageType::kInteger, UsageType::kDouble, UsageType::kString, UsageType::kKey}) {
    if (value.type == UsageTypeName(type)) return type;
  }
  for (const NamedType& row : kValueTypes) {
    if (row.name == value.name) return row.type;
  }
  return UsageType::kString;
}

// A word in small letters: a value with a name, maybe a type and a range.
UsageNode ValueNode(std::string_view word) {
  const UsageValue value = SplitUsageValue(word);
  UsageNode node{.name = std::string(value.name), .type = TypeOf(value)};
  node.range = value.range;
  return node;
}

// A word in capitals or a sign. Its name is the word in small letters; signs have names of their
// own.
UsageNode TokenNode(std::string_view token) {
  const std::string_view sign = UsageSignName(token);
  return {.name = LowerCase(sign.empty() ? token : sign),
          .type = UsageType::kPureToken,
          .token = token};
}

// The names of what is always there, e.g. "key_value".
std::string JointName(const std::vector<UsageNode>& children) {
  std::string name;
  for (const UsageNode& child : children) {
    if (child.optional) continue;
    if (!name.empty()) name += '_';
    name += child.name;
  }
  return name.empty() ? children.front().name : name;
}

// One node for a sequence: a block of several nodes, one node itself, an empty node for none.
UsageNode BlockOf(std::vector<UsageNode> nodes) {
  if (nodes.empty()) return {};
  if (nodes.size() == 1) return std::move(nodes.front());
  UsageNode block{.name = JointName(nodes), .type = UsageType::kBlock};
  block.children = std::move(nodes);
  return block;
}

// Recursive descent without look-ahead beyond one bracket. `at_` only grows, so it is O(words), but
// for the comparisons of repetitions, which are short.
class Parser {
 public:
  explicit Parser(Words words) : words_(words) {}

  // A plain sequence is a list of arguments; a choice at the top is a single one.
  std::vector<UsageNode> ParseTop() {
    Group group = ParseGroup();
    if (!group.repeated && group.alternatives.size() == 1) return std::move(group.alternatives[0]);
    std::vector<UsageNode> nodes;
    nodes.push_back(NodeOf(std::move(group)));
    return nodes;
  }

 private:
  // The part of a usage between two brackets, or between its ends.
  struct Group {
    std::string_view token;  // before all alternatives
    std::vector<std::vector<UsageNode>> alternatives;
    bool repeated = false;
  };

  bool done() const { return at_ >= words_.size(); }
  // The end of a group; the caller takes the bracket.
  bool Closes() const { return done() || words_[at_] == "]" || words_[at_] == ">"; }

  // Up to the bracket that closes it, which is not taken.
  Group ParseGroup() {
    Group group;
    const size_t begin = at_;
    std::vector<UsageNode> sequence;
    std::vector<size_t> begins;  // of each node of the sequence
    while (!Closes()) {
      const std::string_view word = words_[at_];
      if (word == "|") {
        group.alternatives.push_back(std::exchange(sequence, {}));
        begins.clear();
        ++at_;
      } else if (word == "...") {
        group.repeated = true;
        ++at_;
      } else if (IsUsageVersion(word)) {
        if (!sequence.empty()) SetVersion(sequence.back(), word);
        ++at_;
      } else if (const size_t inside = Repetition(); inside > 0) {
        const Words repeated = words_.subspan(at_ + 1, inside);
        if (!Repeat(sequence, begins, repeated) &&
            std::ranges::equal(words_.subspan(begin, at_ - begin), repeated)) {
          group.repeated = true;
        }
        at_ += inside + 3;
      } else {
        begins.push_back(at_);
        sequence.push_back(ParseItem());
      }
    }
    group.alternatives.push_back(std::move(sequence));
    LiftToken(group);
    return group;
  }

  // How many words stand in "[words ...]" when that is next and repeats something; else 0.
  size_t Repetition() const {
    if (words_[at_] != "[") return 0;
    int depth = 0;
    for (size_t i = at_; i < words_.size(); ++i) {
      if (words_[i] == "[" || words_[i] == "<") ++depth;
      if ((words_[i] != "]" && words_[i] != ">") || --depth > 0) continue;
      const bool dots = i - at_ > 2 && words_[i - 1] == "...";
      return dots && Repeats(words_.subspan(at_ + 1, i - at_ - 2)) ? i - at_ - 2 : 0;
    }
    return 0;
  }

  // Whether these words stand right before the bracket.
  bool Repeats(Words words) const {
    return words.size() <= at_ &&
           std::ranges::equal(words_.subspan(at_ - words.size(), words.size()), words);
  }

  // Makes the last nodes of the sequence, which these words were, one that may be repeated.
  bool Repeat(std::vector<UsageNode>& sequence, std::vector<size_t>& begins, Words words) {
    const auto first = std::ranges::find(begins, at_ - words.size());
    if (first == begins.end()) return false;
    const auto from = sequence.begin() + (first - begins.begin());
    std::vector<UsageNode> nodes(std::make_move_iterator(from),
                                 std::make_move_iterator(sequence.end()));
    sequence.erase(from, sequence.end());
    begins.erase(first + 1, begins.end());
    sequence.push_back(BlockOf(std::move(nodes)));
    sequence.back().multiple = true;
    sequence.back().multiple_token = !sequence.back().token.empty();
    return true;
  }

  // A block with a name, a bracket, a token with a name, a value, or a token with what belongs to
  // it.
  UsageNode ParseItem() {
    std::string_view word = words_[at_++];
    std::string_view name;
    if (IsUsageBlockName(word) && !done() && IsUsageOpening(words_[at_])) {
      name = word.substr(0, word.size() - 1);
      word = words_[at_++];
    }
    if (IsUsageOpening(word)) {
      UsageNode node = NodeOf(ParseGroup(), name);
      if (!done()) ++at_;
      node.optional = node.optional || word == "[";
      return node;
    }
    if (const size_t equals = word.find('='); equals < word.size() - 1) {
      UsageNode node = TokenNode(word.substr(equals + 1));
      node.name = word.substr(0, equals);
      return node;
    }
    if (!IsUsageToken(word)) return ValueNode(word);
    return ParseAfterToken(word);
  }

  // A token with the values behind it, or with the "<group>" behind it.
  UsageNode ParseAfterToken(std::string_view token) {
    std::vector<UsageNode> values;
    std::vector<size_t> begins;
    const size_t begin = at_;
    while (!Closes() && IsValue(words_[at_])) {
      const size_t opening = at_ + IsUsageBlockName(words_[at_]);
      const std::string_view opens = opening < words_.size() ? words_[opening] : "";
      if (opens == "[") {
        // "ID client-id [client-id ...]" belongs to ID, any other option does not.
        const size_t inside = Repetition();
        if (inside == 0 || inside > at_ - begin) break;
        Repeat(values, begins, words_.subspan(at_ + 1, inside));
        at_ += inside + 3;
        break;
      }
      const bool group = opens == "<";
      begins.push_back(at_);
      values.push_back(ParseItem());
      if (group) break;
    }
    if (values.empty()) return TokenNode(token);
    UsageNode node = BlockOf(std::move(values));
    node.token = token;
    return node;
  }

  // May belong to the token before it.
  static bool IsValue(std::string_view word) {
    return word != "|" && word != "..." && !IsUsageVersion(word) && !IsUsageToken(word);
  }

  // "OVERFLOW WRAP | SAT": the first of two tokens belongs to the whole choice.
  static void LiftToken(Group& group) {
    if (group.alternatives.size() < 2) return;
    std::vector<UsageNode>& first = group.alternatives.front();
    if (first.size() != 2 || first[0].type != UsageType::kPureToken || first[1].token.empty()) {
      return;
    }
    group.token = first[0].token;
    first.erase(first.begin());
  }

  // A single alternative is that itself, unless it is named; several are a choice. `name`: its own,
  // or empty.
  static UsageNode NodeOf(Group group, std::string_view name = {}) {
    UsageNode node;
    if (group.alternatives.size() == 1 && name.empty()) {
      node = BlockOf(std::move(group.alternatives.front()));
    } else if (group.alternatives.size() == 1) {
      node.type = UsageType::kBlock;
      node.children = std::move(group.alternatives.front());
    } else {
      node.type = UsageType::kOneOf;
      for (auto& nodes : group.alternatives) node.children.push_back(BlockOf(std::move(nodes)));
      node.token = group.token;
      node.name = group.token.empty() ? ChoiceName(node) : TokenNode(group.token).name;
    }
    if (!name.empty()) node.name = name;
    node.multiple = node.multiple || group.repeated;
    return node;
  }

  // A known first word, else the names of all alternatives, unless that gets too long for a name.
  static std::string ChoiceName(const UsageNode& choice) {
    for (const auto& [token, name] : kChoices) {
      if (choice.children.front().token == token) return std::string(name);
    }
    const std::string joint = JointName(choice.children);
    return joint.size() <= kNameMax ? joint : choice.children.front().name;
  }

  Words words_;
  size_t at_ = 0;
};

// Gives the keys of a tree, from left to right, to the key specs that find them.
class KeyAssigner {
 public:
  explicit KeyAssigner(std::span<const KeySpec> specs) : specs_(specs) { Enter(); }

  // Depth first, which is the order in which keys stand in a request.
  void Assign(std::vector<UsageNode>& nodes) {
    for (UsageNode& node : nodes) {
      if (node.type == UsageType::kKey && index_ < specs_.size()) {
        node.key_spec_index = static_cast<int>(index_);
        if (--left_ == 0) {
          ++index_;
          Enter();
        }
      }
      Assign(node.children);
    }
  }

 private:
  // How many of the named keys a spec finds; one that goes to the end, or counts, finds one name.
  void Enter() {
    if (index_ >= specs_.size()) return;
    const KeySpec& spec = specs_[index_];
    left_ = spec.keynum || spec.last <= 0 ? 1 : spec.last / spec.step + 1;
  }

  std::span<const KeySpec> specs_;
  size_t index_ = 0;
  int left_ = 0;
};

}  // namespace

// By UsageType, in the words of COMMAND DOCS.
std::string_view UsageTypeName(UsageType type) {
  constexpr std::string_view kNames[] = {"string",    "integer",    "double", "key",  "pattern",
                                         "unix-time", "pure-token", "oneof",  "block"};
  return kNames[static_cast<size_t>(type)];
}

std::vector<UsageNode> ParseUsage(std::string_view usage, const KeySpecs& keys) {
  if (usage.empty()) return {};
  const std::vector<std::string_view> words = SplitUsage(usage);
  std::vector<UsageNode> nodes = Parser(words).ParseTop();
  KeyAssigner(keys.all()).Assign(nodes);
  return nodes;
}

}  // namespace sluice
