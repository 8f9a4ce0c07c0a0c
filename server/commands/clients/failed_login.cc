// See failed_login.h.
#include "server/commands/clients/failed_login.h"

#include "server/commands/clients/login.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {
namespace {

void SayWrong(CommandCall& call) { call.reply.Error(kWrongPassword); }

}  // namespace

void RefuseLogin(CommandCall& call) {
  const int64_t delay_ms = call.settings.failed_login_delay;
  // Inside MULTI there is no blocking; who is there has logged in already.
  if (delay_ms == 0 || !call.may_wait()) return SayWrong(call);
  call.part<BlockedClients>().Block(
      call, {.deadline_ms = call.now.ms() + delay_ms, .on_timeout = SayWrong});
}

}  // namespace sluice
