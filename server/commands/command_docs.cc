#include "server/commands/command_docs.h"

#include <string_view>
#include <vector>

#include "server/commands/usage_grammar.h"

namespace sluice {
namespace {

void ReplyText(ReplySink& reply, std::string_view name, std::string_view text) {
  reply.Bulk(name);
  reply.Bulk(text);
}

void ReplyArgumentFlags(ReplySink& reply, const UsageNode& node) {
  reply.Bulk("flags");
  reply.Set(node.optional + node.multiple + node.multiple_token);
  if (node.optional) reply.Status("optional");
  if (node.multiple) reply.Status("multiple");
  if (node.multiple_token) reply.Status("multiple_token");
}

void ReplyArguments(ReplySink& reply, const std::vector<UsageNode>& nodes) {
  reply.Array(nodes.size());
  for (const UsageNode& node : nodes) {
    const bool has_spec = node.key_spec_index >= 0;
    const bool has_flags = node.optional || node.multiple;
    const bool has_children = !node.children.empty();
    reply.Map(2 + has_spec + !node.token.empty() + has_flags + has_children);
    ReplyText(reply, "name", node.name);
    ReplyText(reply, "type", UsageTypeName(node.type));
    if (has_spec) {
      reply.Bulk("key_spec_index");
      reply.Integer(node.key_spec_index);
    }
    if (!node.token.empty()) ReplyText(reply, "token", node.token);
    if (has_flags) ReplyArgumentFlags(reply, node);
    if (has_children) {
      reply.Bulk("arguments");
      ReplyArguments(reply, node.children);
    }
  }
}

}  // namespace

void ReplyDocs(ReplySink& reply, const Command& command) {
  const CommandSpec& spec = *command.spec;
  const std::vector<UsageNode> arguments = ParseUsage(spec);
  const bool has_since = !spec.since.empty();
  const bool has_complexity = !spec.complexity.empty();
  reply.Bulk(command.full_name);
  reply.Map(2 + has_since + has_complexity + !arguments.empty() + !command.subcommands.empty());
  ReplyText(reply, "summary", spec.summary);
  if (has_since) ReplyText(reply, "since", spec.since);
  ReplyText(reply, "group", spec.group);
  if (has_complexity) ReplyText(reply, "complexity", spec.complexity);
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
