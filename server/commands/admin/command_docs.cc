// See command_docs.h.
//
// A map says its length before its fields, and most fields are left out where they are empty. So
// each function counts first what it is going to write; both must name the same fields.
#include "server/commands/admin/command_docs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "server/commands/admin/usage_grammar.h"

namespace sluice {
namespace {

// One field of text.
void ReplyText(ReplySink& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  reply.Bulk(text);
}

// Flags are simple strings in a set.
void ReplyArgumentFlags(ReplySink& reply, const UsageNode& node) {
  reply.Bulk("flags");
  reply.Set(node.optional + node.multiple + node.multiple_token);
  if (node.optional) reply.Status("optional");
  if (node.multiple) reply.Status("multiple");
  if (node.multiple_token) reply.Status("multiple_token");
}

// Redis has no field for a range; it stands in the argument's summary.
std::string RangeText(const UsageNode& node) {
  return Concat(node.range, node.type == UsageType::kString ? " bytes" : "");
}

// Recursive, as arguments hold arguments; no deeper than the usage that a row's author wrote.
void ReplyArguments(ReplySink& reply, const std::vector<UsageNode>& nodes) {
  reply.Array(nodes.size());
  for (const UsageNode& node : nodes) {
    const bool has_spec = node.key_spec_index >= 0;
    const bool has_flags = node.optional || node.multiple;
    const bool has_children = !node.children.empty();
    reply.Map(2 + has_spec + !node.token.empty() + !node.range.empty() + !node.since.empty() +
              !node.deprecated_since.empty() + has_flags + has_children);
    ReplyText(reply, "name", node.name);
    ReplyText(reply, "type", UsageTypeName(node.type));
    if (has_spec) {
      reply.Bulk("key_spec_index");
      reply.Integer(node.key_spec_index);
    }
    if (!node.token.empty()) ReplyText(reply, "token", node.token);
    if (!node.range.empty()) ReplyText(reply, "summary", RangeText(node));
    if (!node.since.empty()) ReplyText(reply, "since", node.since);
    if (!node.deprecated_since.empty()) {
      ReplyText(reply, "deprecated_since", node.deprecated_since);
    }
    if (has_flags) ReplyArgumentFlags(reply, node);
    if (has_children) {
      reply.Bulk("arguments");
      ReplyArguments(reply, node.children);
    }
  }
}

// "version sentence|version sentence" as pairs.
void ReplyHistory(ReplySink& reply, std::string_view history) {
  reply.Bulk("history");
  reply.Set(static_cast<size_t>(std::ranges::count(history, '|')) + 1);
  while (!history.empty()) {
    const std::string_view change = history.substr(0, history.find('|'));
    const size_t space = std::min(change.find(' '), change.size());
    reply.Array(2);
    reply.Bulk(change.substr(0, space));
    reply.Bulk(change.substr(std::min(space + 1, change.size())));
    history.remove_prefix(std::min(change.size() + 1, history.size()));
  }
}

// Two words only; the field is left out if neither holds.
void ReplyDocFlags(ReplySink& reply, bool system, bool deprecated) {
  reply.Bulk("doc_flags");
  reply.Set(system + deprecated);
  if (deprecated) reply.Status("deprecated");
  if (system) reply.Status("syscmd");
}

}  // namespace

// Subcommands are a map of the same form inside their container.
void ReplyDocs(ReplySink& reply, const Command& command) {
  const CommandSpec& spec = *command.spec;
  const std::vector<UsageNode> arguments = ParseUsage(spec);
  const bool has_since = !spec.since.empty();
  const bool has_complexity = !spec.complexity.empty();
  reply.Bulk(command.full_name);
  // The map has fields only for facts that are known of the command.
  const bool is_system = (spec.flags & kSystem) != 0;
  const bool is_deprecated = !spec.deprecated_since.empty();
  reply.Map(2 + has_since + has_complexity + (is_system || is_deprecated) + is_deprecated +
            !spec.replaced_by.empty() + !spec.history.empty() + !arguments.empty() +
            !command.subcommands.empty());
  ReplyText(reply, "summary", spec.Read(spec.summary));
  if (has_since) ReplyText(reply, "since", spec.Read(spec.since));
  ReplyText(reply, "group", spec.Read(spec.group));
  if (has_complexity) ReplyText(reply, "complexity", spec.Read(spec.complexity));
  if (is_system || is_deprecated) ReplyDocFlags(reply, is_system, is_deprecated);
  if (is_deprecated) ReplyText(reply, "deprecated_since", spec.Read(spec.deprecated_since));
  if (!spec.replaced_by.empty()) ReplyText(reply, "replaced_by", spec.Read(spec.replaced_by));
  if (!spec.history.empty()) ReplyHistory(reply, spec.Read(spec.history));
  if (!arguments.empty()) {
    reply.Bulk("arguments");
    ReplyArguments(reply, arguments);
  }
  if (command.subcommands.empty()) return;
  reply.Bulk("subcommands");
  reply.Map(command.subcommands.size());
  for (const Command* sub : command.subcommands) ReplyDocs(reply, *sub);
}

}  // namespace sluice
