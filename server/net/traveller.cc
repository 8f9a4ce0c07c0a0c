// See traveller.h.
#include "server/net/traveller.h"

#include <algorithm>

#include "server/access/users.h"
#include "server/waiting/parked_clients.h"

namespace sluice {

Traveller Leave(Space& space, Session& session) {
  Traveller traveller;
  traveller.peer = session.peer;
  traveller.name = session.name;
  traveller.library_name = session.library_name;
  traveller.library_version = session.library_version;
  traveller.resp = session.resp();
  traveller.db = session.db;
  // Where there is no password a client has shown none; another space does not know its users.
  const User& guard = space.engine().part<Users>().default_user();
  traveller.authenticated =
      session.authenticated && session.user == &guard && !guard.has_no_password();
  traveller.bytes = session.pending.view().substr(session.pending_start);
  traveller.connection = space.Release(session.id);
  return traveller;
}

// Those who wait are told that they wait no more. One that cannot be answered now, or has said what
// the new engine could not know (SUBSCRIBE, MONITOR), is closed: it connects again, and says it
// again.
std::vector<Traveller> LeaveAll(Space& space, std::optional<SessionId> caller) {
  Engine& engine = space.engine();
  std::vector<std::pair<uint64_t, SessionId>> ids;
  engine.ForEachSession([&](Session& session) { ids.emplace_back(session.client_id, session.id); });
  std::ranges::sort(ids, {}, [](const auto& each) { return each.first; });
  std::vector<Traveller> travellers;
  for (const auto& [number, id] : ids) {
    Session& session = *engine.Find(id);
    const bool is_caller = id == caller;
    if (session.blocked && !is_caller)
      engine.part<ParkedClients>().Unblock(session, ParkedClients::End::kError);
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

bool Arrive(Space& space, Traveller traveller) {
  if (!traveller.connection) return false;
  Session* const session = space.Admit(std::move(traveller.connection), std::move(traveller.peer));
  if (!session) return false;
  Engine& engine = space.engine();
  Clients& clients = engine.part<Clients>();
  session->name = std::move(traveller.name);
  session->library_name = std::move(traveller.library_name);
  session->library_version = std::move(traveller.library_version);
  session->writer.set_version(traveller.resp);
  session->db = traveller.db;
  if (traveller.authenticated && !session->authenticated) {
    clients.SetLoggedIn(*session, true);
  }
  clients.ClassChanged(*session);
  if (traveller.is_answered) clients.Push(*session, {"+OK\r\n"});
  if (!traveller.bytes.empty()) {
    session->pending.Append(traveller.bytes);
    clients.Carry(*session);
  }
  return true;
}

}  // namespace sluice
