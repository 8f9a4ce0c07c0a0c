// See lack_of_replicas.h.
#include "server/dispatch/lack_of_replicas.h"

namespace sluice {
namespace {

// It changes nothing, though others of its row do: LIMIT.TAKE ... PEEK, BITFIELD ... GET.
bool OnlyReads(const Request& request) {
  const auto key_flags = request.command.spec->key_flags;
  return key_flags && (key_flags(request) & kKeyRo);
}

}  // namespace

// min-replicas-to-write goes by the flags of the row, as in Redis.
std::string_view LackOfReplicas(const LogState& log, const Request& request, bool runs_writes) {
  const CommandSpec& spec = *request.command.spec;
  const bool writes = (spec.flags & kWrite) || runs_writes;
  const std::string_view refusal = log.ReplicasRefusal(writes, spec.tells_of_grant);
  const bool lacks_sluices = !refusal.empty() && !log.lacks_replicas;
  return lacks_sluices && OnlyReads(request) ? std::string_view() : refusal;
}

}  // namespace sluice
