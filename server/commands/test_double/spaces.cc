// SLUICE.SPACE and SLUICE.RESET: private servers inside a test double
// (server/test_double/spaces.h).

#include "server/test_double/spaces.h"

#include <string>

#include "server/commands/shared/rows.h"
#include "server/commands/test_double/families.h"
#include "server/dispatch/arg_reader.h"

namespace sluice {
namespace {

void SpaceList(CommandCall& call) {
  const std::vector<Spaces::Info> all = call.part<Spaces>().List();
  call.reply.Array(all.size());
  for (const Spaces::Info& space : all) {
    call.reply.Map(4);
    call.reply.Bulk("name");
    call.reply.Bulk(space.name);
    call.reply.Bulk("keys");
    call.reply.Integer(static_cast<int64_t>(space.keys));
    call.reply.Bulk("clients");
    call.reply.Integer(static_cast<int64_t>(space.clients));
    call.reply.Bulk("port");
    call.reply.Integer(space.port);
  }
}

void SpaceDelete(CommandCall& call) {
  if (call.args[2] == Spaces::kDefault) {
    return call.reply.Error("ERR the default space cannot be deleted; SLUICE.RESET empties it");
  }
  if (call.args[2] == call.part<Spaces>().name()) {
    return call.reply.Error("ERR this client is in that space; let it enter another one first");
  }
  call.reply.Integer(call.part<Spaces>().Delete(call.args[2]) ? 1 : 0);
}

void Copy(CommandCall& call) {
  const std::string_view from = call.args[2];
  const std::string_view to = call.args[3];
  std::string fault = SpaceNameFault(to);
  if (from == to) fault = "ERR a space cannot be copied onto itself";
  if (to == Spaces::kDefault) fault = "ERR the default space can be copied, not replaced";
  if (to == call.part<Spaces>().name()) fault = "ERR this client is in the space to be replaced";
  if (fault.empty()) fault = call.part<Spaces>().Copy(from, to);
  fault.empty() ? call.reply.Ok() : call.reply.Error(fault);
}

void Listen(CommandCall& call) {
  std::string fault = SpaceNameFault(call.args[2]);
  const int port = fault.empty() ? call.part<Spaces>().Listen(call.args[2], fault) : -1;
  fault.empty() ? call.reply.Integer(port) : call.reply.Error(fault);
}

void Enter(CommandCall& call) {
  Spaces& spaces = call.part<Spaces>();
  const std::string_view name = call.args[1];
  if (name == spaces.name()) return call.reply.Ok();
  std::string fault = SpaceNameFault(name);
  if (fault.empty()) fault = spaces.Enter(call, name);
  if (!fault.empty()) call.reply.Error(fault);
}

// These words are no names of spaces.
struct Word {
  std::string_view word;
  size_t arguments;  // of the request
  Handler run;
};
constexpr Word kWords[] = {
    {"LIST", 2, SpaceList},
    {"DEL", 3, SpaceDelete},
    {"COPY", 4, Copy},
    {"LISTEN", 3, Listen},
};

void Space(CommandCall& call) {
  for (const Word& row : kWords) {
    if (!IsWord(call.args[1], row.word)) continue;
    if (call.args.size() == row.arguments) return row.run(call);
    return call.reply.Error(ErrorCode::kSyntax);
  }
  if (call.args.size() != 2) return call.reply.Error(ErrorCode::kSyntax);
  Enter(call);
}

void Reset(CommandCall& call) {
  const std::string fault = call.part<Spaces>().Reset(call);
  if (!fault.empty()) call.reply.Error(fault);
}

constexpr uint32_t kSpacesFlags = kOfTestDouble | kAdmin | kNoScript | kNoMulti | kLoading | kStale;

constexpr CommandRow kSpacesRows[] = {
    {.name = "SLUICE.SPACE",
     .arity = -2,
     .flags = kSpacesFlags,
     .run = Space,
     .group = "test double",
     .since = "0.1.0",
     .complexity = "O(1); LIST O(N) spaces; COPY O(N) keys.",
     .usage = "<name | LIST | DEL name | COPY from to | LISTEN name>",
     .summary = "Enters a private server of this test double, or tells of them."},
    {.name = "SLUICE.RESET",
     .arity = 1,
     .flags = kSpacesFlags,
     .run = Reset,
     .group = "test double",
     .since = "0.1.0",
     .complexity = "O(N) where N is the number of clients and keys.",
     .summary = "This space is as it was after its start."},
};

}  // namespace

CommandFamily SpacesFamily() { return {"spaces", kSpecsOf<kSpacesRows>}; }

}  // namespace sluice
