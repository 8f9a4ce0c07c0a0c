// Gives each part the others that it uses, and lists the parts that handlers find by type. A part
// may be made later than the one it is given to: a constructor keeps references, and uses none.
//
// A new part is named in three places: as a member of Assembly, here with what it uses, and in
// AddParts if handlers are to find it by its type.
#include <algorithm>

#include "server/engine/assembly.h"

namespace sluice {

LockService::Uses Assembly::ForLocks() {
  return {
      .config = config,
      .host = host,
      .clock = clock,
      .keyspace = keyspace,
      .changes = ChangeRecorder(effects, notifications),
      .timers = timers,
      .clients = clients,
      .blocked_clients = blocked_clients,
      .standstill = standstill,
      .current_client = current_client,
      .log = log_state,
      .turn_needs = turn_gate.needs(),
      .followers = replicas,
      .flags = flags,
      .requests = request_ids,
  };
}

Dispatcher::Uses Assembly::ForDispatcher() {
  return {
      .parts = parts,
      .settings = config.settings(),
      .random = random,
      .host = host,
      .clock = clock,
      .keyspace = keyspace,
      .clients = clients,
      .commands = commands,
      .counts = command_counts,
      .timer = command_timer,
      .effects = effects,
      .notifications = notifications,
      .statistics = statistics,
      .flags = flags,
      .pause = pause,
      .snapshot_barrier = snapshot_barrier,
      .watches = watches,
      .monitors = monitors,
      .tracking = tracking,
      .script = script_state,
      .log = log_state,
      .follows = follow_state,
      .access = access_gate,
      .slots = slot_gate,
      .memory = memory_limit,
  };
}

AccessControl::Uses Assembly::ForAccess() {
  return {
      .config = config,
      .host = host,
      .users = users,
      .log = access_log,
      .gate = access_gate,
      .clients = clients,
      .blocked_clients = blocked_clients,
      .commands = commands,
      .current_client = current_client,
  };
}

BlockedClients::Uses Assembly::ForBlockedClients() {
  return {
      .clients = clients,
      .timers = timers,
      .dispatcher = dispatcher,
      .timer = command_timer,
      .counts = command_counts,
      .tracking = tracking,
      .current_client = current_client,
      .flags = flags,
  };
}

Waiters::Uses Assembly::ForWaiters() {
  return {
      .blocked_clients = blocked_clients,
      .clients = clients,
      .keyspace = keyspace,
      .clock = clock,
      .flags = flags,
  };
}

ScriptEngine::Uses Assembly::ForScripts() {
  return {
      .settings = config.settings(),
      .host = host,
      .clock = clock,
      .clients = clients,
      .commands = commands,
      .counts = command_counts,
      .dispatcher = dispatcher,
      .effects = effects,
      .current_client = current_client,
      .flags = flags,
      .state = script_state,
      .access = access_gate,
      .log = log_state,
      .follows = follow_state,
      .slots = slot_gate,
      .memory = memory_limit,
      .yielder = yielder,
  };
}

LimitWaiters::Uses Assembly::ForLimitWaiters() {
  return {
      .parts = parts,
      .limits = limits,
      .clients = clients,
      .clock = clock,
      .timers = timers,
      .blocked_clients = blocked_clients,
      .tracking = tracking,
      .current_client = current_client,
      .standstill = standstill,
      .flags = flags,
  };
}

MemoryAccounts::Owners Assembly::ForMemoryAccounts() {
  return {
      .scripts = scripts,
      .locks = locks,
      .requests = request_ids,
      .tracking = tracking,
      .pubsub = pubsub,
      .watches = watches,
      .waiters = waiters,
      .slow_log = slow_log,
      .wheel = wheel,
      .replicas = replicas,
  };
}

Snapshots::Uses Assembly::ForSnapshots() {
  return {
      .config = config,
      .host = host,
      .clock = clock,
      .clients = clients,
      .blocked_clients = blocked_clients,
      .state = log_state,
      .flags = flags,
      .locks = locks,
      .snapshot_barrier = snapshot_barrier,
      .turn_gate = turn_gate,
      .source = {.keyspace = keyspace,
                 .functions = scripts.functions(),
                 .policies = limits.policies(),
                 .fences = locks.memory(),
                 .requests = &request_ids.memory()},
      .process_id = options.process->process_id,
  };
}

LogService::Uses Assembly::ForLog() {
  return {
      .config = config,
      .host = host,
      .clock = clock,
      .gate = turn_gate,
      .waits = turn_waits,
      .effects = effects,
      .dispatcher = dispatcher,
      .locks = locks,
      .standstill = standstill,
      .state = log_state,
      .flags = flags,
      .timers = timers,
      .keyspace = keyspace,
      .snapshots = snapshots,
      .yielder = yielder,
      .process_id = options.process->process_id,
  };
}

Replicas::Uses Assembly::ForReplicas() {
  return {
      .config = config,
      .host = host,
      .clock = clock,
      .clients = clients,
      .effects = effects,
      .commands = commands,
      .turn_gate = turn_gate,
      .snapshots = snapshots,
      .state = log_state,
      .flags = flags,
      .reservation = locks.reservation(),
      .horizon = locks.horizon(),
      .run_id = run_id,
  };
}

FullSyncLoader::Uses Assembly::ForFullSyncs() {
  return {
      .config = config,
      .host = host,
      .clock = clock,
      .keyspace = keyspace,
      .log = log,
      .locks = locks,
      .limits = limits,
      .functions = scripts.functions(),
      .tracking = tracking,
  };
}

Following::Uses Assembly::ForFollowing() {
  return {
      .config = config,
      .clock = clock,
      .clients = clients,
      .blocked_clients = blocked_clients,
      .standstill = standstill,
      .flags = flags,
      .state = follow_state,
      .log = log,
      .locks = locks,
      .turn_gate = turn_gate,
      .replicas = replicas,
      .loader = full_sync_loader,
      .time = master_time,
      .link = {.config = config,
               .host = host,
               .clock = clock,
               .clients = clients,
               .links = links,
               .process_id = options.process->process_id},
      .player = {.settings = config.settings(),
                 .host = host,
                 .clock = clock,
                 .dispatcher = dispatcher,
                 .effects = effects,
                 .statistics = statistics,
                 .snapshot_barrier = snapshot_barrier,
                 .flags = flags,
                 .keyspace = keyspace},
  };
}

PeerLink::Uses Assembly::ForPeers() {
  return {.config = config, .clock = clock, .clients = clients, .links = links};
}

OwnLine::Uses Assembly::ForOwnLine() {
  return {
      .host = host,
      .config = config,
      .cluster = cluster,
      .following = following,
      .changes = map_changes,
      .exchange = map_exchange,
      .links = ForPeers(),
  };
}

GracefulEnd::Uses Assembly::ForGracefulEnd() {
  return {
      .settings = settings(),
      .host = host,
      .clock = clock,
      .timers = timers,
      .clients = clients,
      .blocked_clients = blocked_clients,
      .effects = effects,
      .pause = pause,
      .snapshots = snapshots,
      .replicas = replicas,
  };
}

// For clients that wait.
uint64_t Assembly::TurnsThatHave(const TurnNeeds& needs) const {
  uint64_t turn = needs.disk ? log.TurnsOnDisk() : turn_gate.last();
  if (needs.replicas > 0)
    turn = std::min(turn, replicas.TurnsAt(needs.replicas, needs.on_replicas_disk));
  return turn;
}

RequestWatch::Uses Assembly::ForRequestWatch() {
  return {
      .host = host,
      .clients = clients,
      .commands = commands,
      .clock = clock,
      .timers = timers,
      .locks = locks,
      .random = random,
      .flags = flags,
  };
}

void Assembly::AddParts() {
  AddPartsOfCluster();
  parts.Add(access);
  parts.Add(access_gate);
  parts.Add(access_log);
  parts.Add(current_client);
  parts.Add(client_lines);
  parts.Add(clients);
  parts.Add(clock);
  parts.Add(commands);
  parts.Add(command_counts);
  parts.Add(config);
  parts.Add(debug_settings);
  parts.Add(dispatcher);
  parts.Add(effects);
  parts.Add(facts);
  parts.Add(defragmenter);
  parts.Add(flags);
  parts.Add(follow_state);
  parts.Add(failover);
  parts.Add(following);
  parts.Add(own_deadlines);
  parts.Add(graceful_end);
  parts.Add(grant_promise);
  parts.Add(host);
  parts.Add(inputs);
  parts.Add(keyspace);
  parts.Add(latency_monitor);
  parts.Add(links);
  parts.Add(limits);
  parts.Add(limit_waiters);
  parts.Add(locks);
  parts.Add(request_ids);
  parts.Add(log);
  parts.Add(log_state);
  parts.Add(memory_limit);
  parts.Add(monitors);
  parts.Add(notifications);
  parts.Add(blocked_clients);
  parts.Add(pause);
  parts.Add(promotion_watch);
  parts.Add(pubsub);
  parts.Add(replicas);
  parts.Add(rates);
  parts.Add(script_state);
  parts.Add(scripts);
  parts.Add(slow_log);
  parts.Add(snapshots);
  parts.Add(standstill);
  parts.Add(statistics);
  parts.Add(tracking);
  parts.Add(turn_gate);
  parts.Add(turn_waits);
  parts.Add(users);
  parts.Add(waiters);
  parts.Add(watches);
  AddPartsOfTestDouble();
}

void Assembly::AddPartsOfTestDouble() {
  if (request_watch) parts.Add(*request_watch);
  if (time_control) parts.Add(*time_control);
  if (options.spaces) parts.Add(*options.spaces);
}

void Assembly::AddPartsOfCluster() {
  parts.Add(cluster);
  parts.Add(slot_gate);
  parts.Add(map_changes);
  parts.Add(map_exchange);
  parts.Add(own_line);
  parts.Add(migration);
}

}  // namespace sluice
