// See migrating_client.h.
#include "server/spaces/migrating_client.h"

#include <algorithm>

#include "server/access/users.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {

MigratingClient Leave(Space& space, Session& session) {
  MigratingClient client;
  client.peer = session.peer;
  client.name = session.name;
  client.library_name = session.library_name;
  client.library_version = session.library_version;
  client.resp = session.resp();
  client.db = session.db;
  // Where there is no password a client has shown none; another space does not know its users.
  const User& guard = space.engine().part<Users>().default_user();
  client.authenticated =
      session.authenticated && session.user == &guard && !guard.has_no_password();
  client.bytes = session.pending.view();
  client.connection = space.Release(session.id);
  return client;
}

// Clients that wait are told that they wait no more. One that cannot be answered now, or has said
// what the new engine could not know (SUBSCRIBE, MONITOR), is closed: it connects again, and says
// it again.
std::vector<MigratingClient> LeaveAll(Space& space, std::optional<SessionId> caller) {
  Engine& engine = space.engine();
  std::vector<std::pair<uint64_t, SessionId>> ids;
  engine.ForEachSession([&](Session& session) { ids.emplace_back(session.client_id, session.id); });
  std::ranges::sort(ids, {}, [](const auto& each) { return each.first; });
  std::vector<MigratingClient> travellers;
  for (const auto& [number, id] : ids) {
    Session& session = *engine.Find(id);
    const bool is_caller = id == caller;
    if (session.blocked && !is_caller)
      engine.part<BlockedClients>().Unblock(session, BlockedClients::End::kError);
    if (!session.output.empty()) space.Send(session);
    const bool stays = session.output.empty() && !session.subscribes() &&
                       !(session.conditions & kMonitor) && session.close == CloseMode::kOpen &&
                       session.user == &engine.part<Users>().default_user();
    if (!stays) {
      space.Drop(id);
      continue;
    }
    travellers.push_back(Leave(space, session));
    travellers.back().is_answered = is_caller;
  }
  return travellers;
}

bool Arrive(Space& space, MigratingClient client) {
  if (!client.connection) return false;
  Session* const session = space.Admit(std::move(client.connection), std::move(client.peer));
  if (!session) return false;
  Engine& engine = space.engine();
  Clients& clients = engine.part<Clients>();
  session->name = std::move(client.name);
  session->library_name = std::move(client.library_name);
  session->library_version = std::move(client.library_version);
  session->writer.set_version(client.resp);
  session->db = client.db;
  if (client.authenticated && !session->authenticated) {
    clients.SetLoggedIn(*session, true);
  }
  clients.ClassChanged(*session);
  if (client.is_answered) clients.Push(*session, {"+OK\r\n"});
  if (!client.bytes.empty()) {
    session->pending.Append(client.bytes);
    clients.Requeue(*session);
  }
  return true;
}

}  // namespace sluice
