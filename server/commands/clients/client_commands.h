// Handlers of CLIENT's larger subcommands, for its table in client.cc.
#pragma once

#include "server/dispatch/command.h"

namespace sluice {

// client_list.cc
void ClientList(CommandCall& call);
void ClientInfo(CommandCall& call);
// client_kill.cc
void ClientKill(CommandCall& call);
// client_tracking.cc
void ClientCaching(CommandCall& call);
void ClientGetRedir(CommandCall& call);
void ClientTracking(CommandCall& call);
void ClientTrackingInfo(CommandCall& call);

}  // namespace sluice
