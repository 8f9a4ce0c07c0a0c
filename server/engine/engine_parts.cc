// What each part of the engine is given, and the parts that handlers find by type. A part that is
// made later than the one it is given to is named here too: a constructor keeps references, and
// uses none.
//
// A new part is named in three places: as a member of Engine, here with what it uses, and in
// AddParts if handlers are to find it by its type.
#include "server/engine/engine.h"

namespace sluice {

LockService::Uses Engine::ForLocks() {
  return {
      .config = config_,
      .host = host_,
      .clock = clock_,
      .keyspace = keyspace_,
      .changes = ChangeRecorder(effects_, notifications_),
      .timers = timers_,
      .clients = clients_,
      .parked = parked_,
      .pause = pause_,
      .acting = acting_,
      .log = log_state_,
      .flags = flags_,
  };
}

Dispatcher::Uses Engine::ForDispatcher() {
  return {
      .parts = parts_,
      .settings = config_.settings(),
      .random = random_,
      .host = host_,
      .clock = clock_,
      .keyspace = keyspace_,
      .clients = clients_,
      .commands = commands_,
      .counts = command_counts_,
      .timer = command_timer_,
      .effects = effects_,
      .notifications = notifications_,
      .statistics = statistics_,
      .flags = flags_,
      .pause = pause_,
      .saved_first = saved_first_,
      .watches = watches_,
      .monitors = monitors_,
      .tracking = tracking_,
      .script = script_state_,
      .log = log_state_,
      .access = access_gate_,
      .memory = memory_limit_,
  };
}

AccessControl::Uses Engine::ForAccess() {
  return {
      .config = config_,
      .host = host_,
      .users = users_,
      .log = access_log_,
      .gate = access_gate_,
      .clients = clients_,
      .parked = parked_,
      .commands = commands_,
      .acting = acting_,
  };
}

ParkedClients::Uses Engine::ForParkedClients() {
  return {
      .clients = clients_,
      .timers = timers_,
      .dispatcher = dispatcher_,
      .timer = command_timer_,
      .counts = command_counts_,
      .tracking = tracking_,
      .acting = acting_,
      .flags = flags_,
  };
}

Waiters::Uses Engine::ForWaiters() {
  return {
      .parked = parked_,
      .clients = clients_,
      .keyspace = keyspace_,
      .clock = clock_,
      .flags = flags_,
  };
}

ScriptEngine::Uses Engine::ForScripts() {
  return {
      .settings = config_.settings(),
      .host = host_,
      .clock = clock_,
      .clients = clients_,
      .commands = commands_,
      .counts = command_counts_,
      .dispatcher = dispatcher_,
      .effects = effects_,
      .acting = acting_,
      .flags = flags_,
      .state = script_state_,
      .access = access_gate_,
      .log = log_state_,
      .memory = memory_limit_,
      .others = *this,
  };
}

LimitWaiters::Uses Engine::ForLimits() {
  return {
      .parts = parts_,
      .clients = clients_,
      .clock = clock_,
      .timers = timers_,
      .parked = parked_,
      .tracking = tracking_,
      .acting = acting_,
      .pause = pause_,
      .flags = flags_,
  };
}

MemoryAccounts::Owners Engine::ForMemoryAccounts() {
  return {
      .scripts = scripts_,
      .locks = locks_,
      .tracking = tracking_,
      .pubsub = pubsub_,
      .watches = watches_,
      .waiters = waiters_,
      .slow_log = slow_log_,
      .wheel = wheel_,
  };
}

Snapshots::Uses Engine::ForSnapshots() {
  return {
      .config = config_,
      .host = host_,
      .clock = clock_,
      .clients = clients_,
      .parked = parked_,
      .state = log_state_,
      .flags = flags_,
      .locks = locks_,
      .saved_first = saved_first_,
      .source = {.keyspace = keyspace_,
                 .functions = scripts_.functions(),
                 .policies = limits_.policies(),
                 .fences = locks_.memory()},
      .process_id = options_.process->process_id,
  };
}

LogService::Uses Engine::ForLog() {
  return {
      .config = config_,
      .host = host_,
      .clock = clock_,
      .clients = clients_,
      .parked = parked_,
      .effects = effects_,
      .dispatcher = dispatcher_,
      .locks = locks_,
      .state = log_state_,
      .flags = flags_,
      .timers = timers_,
      .keyspace = keyspace_,
      .snapshots = snapshots_,
      .others = *this,
      .process_id = options_.process->process_id,
  };
}

RequestWatch::Uses Engine::ForRequestWatch() {
  return {
      .host = host_,
      .clients = clients_,
      .commands = commands_,
      .clock = clock_,
      .timers = timers_,
      .locks = locks_,
      .random = random_,
      .flags = flags_,
  };
}

void Engine::AddParts() {
  parts_.Add(access_);
  parts_.Add(access_gate_);
  parts_.Add(access_log_);
  parts_.Add(acting_);
  parts_.Add(client_lines_);
  parts_.Add(clients_);
  parts_.Add(clock_);
  parts_.Add(commands_);
  parts_.Add(command_counts_);
  parts_.Add(config_);
  parts_.Add(debug_settings_);
  parts_.Add(dispatcher_);
  parts_.Add(effects_);
  parts_.Add(facts_);
  parts_.Add(defragmenter_);
  parts_.Add(flags_);
  parts_.Add(host_);
  parts_.Add(inputs_);
  parts_.Add(keyspace_);
  parts_.Add(latency_monitor_);
  parts_.Add(limits_);
  parts_.Add(locks_);
  parts_.Add(log_);
  parts_.Add(log_state_);
  parts_.Add(memory_limit_);
  parts_.Add(monitors_);
  parts_.Add(notifications_);
  parts_.Add(parked_);
  parts_.Add(pause_);
  clients_.set_keeper([this](const Session& session) { return locks_.HoldsBySession(session); });
  parts_.Add(pubsub_);
  parts_.Add(rates_);
  if (request_watch_) parts_.Add(*request_watch_);
  parts_.Add(script_state_);
  parts_.Add(scripts_);
  parts_.Add(slow_log_);
  parts_.Add(snapshots_);
  parts_.Add(statistics_);
  if (time_control_) parts_.Add(*time_control_);
  if (options_.spaces) parts_.Add(*options_.spaces);
  parts_.Add(tracking_);
  parts_.Add(users_);
  parts_.Add(waiters_);
  parts_.Add(watches_);
}

}  // namespace sluice
