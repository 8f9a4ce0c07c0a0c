// Assembly: the parts of the server, made in the order of their needs and joined: what each is
// given (assembly_parts.cc), which options it is told of (assembly_options.cc), what the keyspace
// tells it, what it does once a second and when a session ends (assembly.cc). The turn goes over
// them (turn_loop.h). A part knows those that it was given, never all of them.
//
// Members stand in the order in which they are made: a part may keep a reference to a later one,
// and uses it only in turns.
//
// Drop is the one place that forgets a session: every part that keeps something of it is told
// there. KeyTouched is on the way of every write and costs one test while no part listens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/clients/clients.h"
#include "server/clients/current_client.h"
#include "server/clients/links.h"
#include "server/clients/yielder.h"
#include "server/cluster/cluster_state.h"
#include "server/commit/grant_promise.h"
#include "server/commit/turn_gate.h"
#include "server/commit/turn_waits.h"
#include "server/config/config.h"
#include "server/config/debug_settings.h"
#include "server/core/parts.h"
#include "server/core/slow_path_flags.h"
#include "server/core/standstill.h"
#include "server/core/turn_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/memory_limit.h"
#include "server/dispatch/pause.h"
#include "server/dispatch/slot_gate.h"
#include "server/dispatch/snapshot_barrier.h"
#include "server/dispatch/transaction.h"
#include "server/engine/access_control.h"
#include "server/engine/client_lines.h"
#include "server/engine/defragmenter.h"
#include "server/engine/engine_options.h"
#include "server/engine/facts.h"
#include "server/engine/inputs.h"
#include "server/engine/random_state.h"
#include "server/engine/script_engine.h"
#include "server/following/failover.h"
#include "server/following/following.h"
#include "server/following/full_sync_loader.h"
#include "server/following/master_time.h"
#include "server/following/own_deadlines.h"
#include "server/limits/limit_service.h"
#include "server/limits/limit_waiters.h"
#include "server/limits/request_ids.h"
#include "server/locks/lock_service.h"
#include "server/log/log_service.h"
#include "server/notify/key_listeners.h"
#include "server/notify/monitors.h"
#include "server/notify/pubsub.h"
#include "server/notify/tracking.h"
#include "server/observe/command_counts.h"
#include "server/peers/line_leaders.h"
#include "server/peers/map_changes.h"
#include "server/peers/map_exchange.h"
#include "server/peers/migration.h"
#include "server/peers/own_line.h"
#include "server/replication/graceful_end.h"
#include "server/replication/promotion_watch.h"
#include "server/replication/replicas.h"
#include "server/snapshots/snapshots.h"
#include "server/test_double/request_watch.h"
#include "server/test_double/time_control.h"
#include "server/waiting/blocked_clients.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"
#include "storage/time/timer_task.h"

namespace sluice {

struct Assembly final : KeyspaceObserver, private OptionFollower {
  // `how_to_yield` is used in turns alone.
  Assembly(Config& configuration, Clock& machine_clock, Host& its_host, const CommandTable& table,
           EngineOptions chosen, Yielder& how_to_yield);
  ~Assembly() override;

  Fault StartLog();  // see Engine
  void Drop(SessionId id);
  void EverySecond();
  void RefreshNow();
  void LoadLog();
  RandomState SaveRandom() const;
  void RestoreRandom(const RandomState& state);
  std::string Audit() const;
  // The part of Audit that looks at no client. A flag may be raised for nothing, but not down while
  // there is something.
  std::string AuditFlags() const;
  const Settings& settings() const { return config.settings(); }

  // --- KeyspaceObserver
  void KeyTouched(int db, std::string_view key) override;
  void KeyLookedUp(int db, std::string_view key) override;
  void KeyExpired(int db, const Entry& entry, int64_t late_ms) override;
  void ValueIsOver(int db, const Entry& entry) override;
  void KeyCreated(int db, std::string_view key) override;
  void DatabaseReplaced(int db, int other) override;
  void ValueDue(Database& db, HashedKey key, Entry& entry) override;

  Config& config;
  Host& host;
  const EngineOptions options;
  Yielder& yielder;
  TurnClock clock;
  HashKeys hash_keys;
  Random random;
  const std::string run_id;
  SlowPathFlags flags;
  CurrentClient current_client;
  Statistics statistics;
  Rates rates;
  DebugSettings debug_settings;
  TimerWheel wheel;
  TimerTasks timers{wheel};
  Clients clients;
  TurnGate turn_gate{clients};
  Links links{host, clients};
  Effects effects;
  Parts parts;
  Standstill standstill{keyspace, flags};
  RequestIds request_ids{hash_keys.Next()};
  LockService locks;  // outlives the locks in the keyspace
  Keyspace keyspace;
  const CommandTable& commands;
  Users users;
  AccessLog access_log;
  CommandCounts command_counts;
  WatchTable watches;
  PubSub pubsub;
  Notifications notifications;
  Tracking tracking;
  Monitors monitors;
  MemoryLimit memory_limit;
  Pause pause;
  SnapshotBarrier snapshot_barrier;
  ScriptState script_state;
  LogState log_state;
  FollowState follow_state;
  SlowLog slow_log;
  LatencyMonitor latency_monitor;
  CommandTimer command_timer;
  ClientLines client_lines;
  AccessGate access_gate;
  ClusterState cluster{config, follow_state, flags, run_id};
  SlotGate slot_gate{parts, config.settings(), cluster, keyspace, clock};
  Dispatcher dispatcher;
  BlockedClients blocked_clients;
  TurnWaits turn_waits{clients, blocked_clients,
                       [this](const TurnNeeds& needs) { return TurnsThatHave(needs); }};
  MapChanges map_changes{{host, clients, blocked_clients, cluster, slot_gate, pubsub}};
  AccessControl access;
  std::string users_fault;  // of the configuration
  Waiters waiters;
  ScriptEngine scripts;
  LimitService limits{options.zones.get()};
  LimitWaiters limit_waiters;
  Defragmenter defragmenter{parts, timers};
  KeyListeners key_listeners;
  Snapshots snapshots;
  LogService log;
  Replicas replicas;
  GrantPromise grant_promise{{config.settings(), clock, timers, turn_gate, log_state, flags,
                              replicas, follow_state, clients}};
  Facts facts;
  FullSyncLoader full_sync_loader{ForFullSyncs()};
  MasterTime master_time{{clock, keyspace, [this](int64_t ms) { TimeShifted(ms); }}};
  Following following{ForFollowing()};
  MapExchange map_exchange{{host, cluster, map_changes, ForPeers()}};
  OwnLine own_line{ForOwnLine()};
  Migration migration{{host, clients, blocked_clients, pause, ForPeers()}};
  LineLeaders line_leaders{{host, config, cluster, ForPeers()}};
  Failover failover{{host, clock, pause, replicas, following}};
  GracefulEnd graceful_end{ForGracefulEnd()};
  PromotionWatch promotion_watch{{host, clock, replicas, snapshots}};
  OwnDeadlines own_deadlines{
      {keyspace, clock, timers, config.settings(), follow_state, current_client, standstill, flags},
      hash_keys};
  std::unique_ptr<TimeControl> time_control;  // of a test double, both
  std::unique_ptr<RequestWatch> request_watch;

  Inputs inputs;                // of this turn
  size_t client_bytes_max = 0;  // of all clients together (maxmemory-clients); 0: no limit
  TimerTaskOf<Assembly> every_second{*this};

 private:
  // --- assembly_parts.cc
  LockService::Uses ForLocks();
  Dispatcher::Uses ForDispatcher();
  BlockedClients::Uses ForBlockedClients();
  Waiters::Uses ForWaiters();
  ScriptEngine::Uses ForScripts();
  LimitWaiters::Uses ForLimitWaiters();
  Snapshots::Uses ForSnapshots();
  LogService::Uses ForLog();
  Replicas::Uses ForReplicas();
  FullSyncLoader::Uses ForFullSyncs();
  Following::Uses ForFollowing();
  PeerLink::Uses ForPeers();
  OwnLine::Uses ForOwnLine();
  GracefulEnd::Uses ForGracefulEnd();
  AccessControl::Uses ForAccess();
  RequestWatch::Uses ForRequestWatch();
  MemoryAccounts::Owners ForMemoryAccounts();
  uint64_t TurnsThatHave(const TurnNeeds& needs) const;
  void AddParts();
  void AddPartsOfCluster();
  void AddPartsOfTestDouble();
  void Introduce();

  // --- assembly_options.cc
  struct FollowedOptions;
  static std::span<const FollowedOptions> AllFollowed();
  void FollowConfig();
  void WatchPeers();
  std::optional<std::string> OptionChanged(std::string_view option) override;
  void MemoryOptionsChanged();
  void MaxMemoryChanged();

  void TellListenersItIsOver(int db, std::string_view key);
  void TellExpiredValue(int db, const Entry& entry);  // of a string
  void ArmEverySecond(int64_t ms);
  void TimeShifted(int64_t ms);
};

}  // namespace sluice
