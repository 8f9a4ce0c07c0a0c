// Figures of the process and its clients. A field without any truth behind it on Sluice has the
// value that Redis shows while it does no such thing.

#include <charconv>

#include "server/clients/clients.h"
#include "server/cluster/cluster_state.h"
#include "server/config/config.h"
#include "server/config/version.h"
#include "server/core/turn_clock.h"
#include "server/engine/facts.h"
#include "server/figures/sections.h"
#include "server/notify/tracking.h"
#include "server/replication/graceful_end.h"
#include "server/test_double/spaces.h"
#include "server/waiting/waiters.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

constexpr int64_t kDayMs = 24 * 3600 * 1000;

// The value that CONFIG GET answers.
std::string OptionOf(From from, std::string_view name) {
  const Config::Pairs found = from.Get<Config>().Get({&name, 1});
  return found.empty() ? std::string() : found.front().second;
}

FigureValue Hz(From from) { return OptionOf(from, "hz"); }

// A hash of the version and the compiler: the same for every build of the same.
FigureValue BuildId(From) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : Concat(kSluiceVersion, ' ', __VERSION__)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  char digits[20];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, hash, 16).ptr);
}

// A host that is no process of its own (a library, a test) tells of none.
FigureValue MultiplexingApi(From from) {
  const std::string& api = from.Get<Facts>().process().multiplexing_api;
  return api.empty() ? std::string_view("none") : std::string_view(api);
}

FigureValue TcpPort(From from) {
  const Settings& settings = from.Get<Config>().settings();
  return settings.port ? settings.port : settings.tls_port;
}

FigureValue StartUnixSeconds(From from) {
  return (from.Get<TurnClock>().now().unix_ms() - from.uptime_ms()) / 1000;
}

bool IsTestDouble(From from) { return from.parts().Find<Spaces>() != nullptr; }

std::string_view ModeOf(From from) {
  return from.Get<ClusterState>().is_on() ? "cluster" : "standalone";
}

void WriteInstanceInfo(From from, MetricText& text) {
  const Facts& facts = from.Get<Facts>();
  text.Value({{"role", "master"},
              {"redis_version", kRedisVersion},
              {"redis_mode", ModeOf(from)},
              {"os", facts.process().os},
              {"maxmemory_policy", from.Get<Config>().settings().maxmemory_policy},
              {"process_id", Concat(facts.process().process_id)},
              {"run_id", facts.run_id()}},
             1);
}

void WriteBuildInfo(From, MetricText& text) {
  text.Value({{"version", kSluiceVersion}, {"redis_version", kRedisVersion}}, 1);
}

// redis_version is the Redis whose commands we speak; sluice_version is ours. Times are engine
// time, except server_time_usec.
constexpr Figure kServerFigures[] = {
    {"redis_version", "", "the Redis whose commands and answers these are",
     [](From) { return kRedisVersion; }},
    {"redis_git_sha1", "", "zeros, kept for monitors", [](From) { return "00000000"; }},
    {"redis_git_dirty", "", "0, kept for monitors", Zero},
    {"redis_build_id", "", "the same for all builds of this version by this compiler", BuildId},
    {"redis_mode", "", "standalone or cluster", [](From from) { return ModeOf(from); }},
    {"os", "", "system and machine", Of<&Facts::process, &ProcessFacts::os>},
    {"arch_bits", "", "of a pointer", [](From) { return sizeof(void*) * 8; }},
    {"monotonic_clock", "", "what durations of commands are measured with",
     [](From from) { return from.Get<TurnClock>().clock().TickSource(); }},
    {"multiplexing_api", "", "how the loop waits for clients", MultiplexingApi},
    {"atomicvar_api", "", "none: one thread has all data", [](From) { return "none"; }},
    {"gcc_version", "", "of the compiler",
     [](From) { return Concat(__GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__); }},
    {"process_id", "", "of the system", Of<&Facts::process, &ProcessFacts::process_id>,
     Gauge("redis_process_id", "Number of the process.")},
    {"process_supervised", "", "systemd where the service manager is told (`supervised`), else no",
     [](From from) {
       return from.Get<Config>().settings().supervised == "systemd" ? "systemd" : "no";
     }},
    {"run_id", "", "40 hexadecimal digits, others after each start", Of<&Facts::run_id>},
    {"tcp_port", "", "the port of clients; that of TLS where there is no other", TcpPort},
    {"server_time_usec", "µs", "Unix time",
     [](From from) { return from.Get<TurnClock>().now().unix_us(); }},
    {"uptime_in_seconds", "s", "since the start", [](From from) { return from.uptime_ms() / 1000; },
     Gauge("redis_uptime_in_seconds", "Seconds since the start.")},
    {"uptime_in_days", "d", "the same", [](From from) { return from.uptime_ms() / kDayMs; }},
    {"hz", "", "the option; nothing here depends on it", Hz},
    {"configured_hz", "", "the same", Hz},
    {"lru_clock", "", "the clock of OBJECT IDLETIME",
     [](From from) { return from.Get<Keyspace>().AccessClock(from.Get<TurnClock>().now()); }},
    Only(IsTestDouble,
         {"test_double", "", "yes; only there with `test-double yes`", [](From) { return "yes"; }}),
    Only(IsTestDouble,
         {"space", "", "the private space that is asked; only there with `test-double yes`",
          Of<&Spaces::name>}),
    {"executable", "", "path of the program", Of<&Facts::process, &ProcessFacts::executable>},
    {"config_file", "", "path of the configuration; empty: there is none", Of<&Config::file>},
    {"io_threads_active", "", "0, kept for monitors: there is one thread", Zero},
    {"shutdown_in_milliseconds", "ms", "until it ends, whether or not its replicas have all",
     [](From from) { return from.Get<GracefulEnd>().ms_left(); }, kNoMetric, Plot::kNone,
     [](From from) { return from.Get<GracefulEnd>().waits(); }},
    {"sluice_version", "", "of this server", [](From) { return kSluiceVersion; }},

    {.read = [](From) { return 1; }, .metric = Gauge("redis_up", "1: this server answers.")},
    {.metric = Gauge("redis_instance_info", "What the server is.", WriteInstanceInfo)},
    {.read = StartUnixSeconds,
     .metric = Gauge("redis_start_time_seconds", "Unix time of the start.")},
    {.metric = Gauge("sluice_build_info", "Which Sluice this is.", WriteBuildInfo)},
};

// A client that CLIENT PAUSE holds counts as blocked for INFO, as in Redis; a scrape does not look
// for these.
FigureValue BlockedClients(From from) {
  return from.Get<Waiters>().blocked_clients().size() + from.sums().paused;
}
void WriteBlockedClients(From from, MetricText& text) {
  text.Value(static_cast<double>(from.Get<Waiters>().blocked_clients().size()));
}

constexpr Figure kClientFigures[] = {
    {"connected_clients", "", "connections, those that wait among them; no replicas",
     Of<&Clients::connected>, Gauge("redis_connected_clients", "Clients that are connected."),
     Plot::kClients},
    {"cluster_connections", "", "0, kept for monitors: there is no cluster", Zero},
    {"maxclients", "", "the option, as far as open files allow it",
     Of<&Config::settings, &Settings::maxclients>,
     Gauge("redis_config_maxclients", "Clients that may be (maxclients).")},
    {"client_recent_max_input_buffer", "bytes", "the largest request that is not whole yet",
     Of<&FigureSources::sums, &ClientSums::input_max>},
    {"client_recent_max_output_buffer", "bytes", "the largest output that was not taken yet",
     Of<&FigureSources::sums, &ClientSums::output_max>},
    {"blocked_clients", "", "those that wait in a command, or by CLIENT PAUSE", BlockedClients,
     Gauge("redis_blocked_clients", "Clients that wait in a command.", WriteBlockedClients)},
    {"tracking_clients", "", "those with CLIENT TRACKING", Of<&Tracking::clients>,
     Gauge("redis_tracking_clients", "Clients with client-side caching.")},
    {"clients_in_timeout_table", "", "those that wait with a deadline",
     Of<&Waiters::blocked_clients, &BlockedClients::with_deadline>,
     Gauge("redis_clients_in_timeout_table", "Clients that wait until a deadline.")},
};

// In seconds with six digits, as getrusage's fields are shown.
FigureValue CpuSeconds(int64_t micros) {
  return FigureValue::Fixed(static_cast<double>(micros) / 1e6, 6);
}
template <auto micros>
FigureValue CpuTime(From from) {
  return CpuSeconds(from.usage().*micros);
}
FigureValue NoCpuTime(From) { return CpuSeconds(0); }

// Times of the process and of its main thread; there are no children.
constexpr Figure kCpuFigures[] = {
    {"used_cpu_sys", "s", "CPU time of the process, in the system",
     CpuTime<&ProcessUsage::system_us>,
     Counter("redis_cpu_sys_seconds", "CPU time in the system.")},
    {"used_cpu_user", "s", "CPU time of the process, in its own code",
     CpuTime<&ProcessUsage::user_us>, Counter("redis_cpu_user_seconds", "CPU time outside of it.")},
    {"used_cpu_sys_children", "s", "0, kept for monitors: there are none", NoCpuTime},
    {"used_cpu_user_children", "s", "0, kept for monitors: there are none", NoCpuTime},
    {"used_cpu_sys_main_thread", "s", "of the thread that serves clients, in the system",
     CpuTime<&ProcessUsage::thread_system_us>,
     Counter("redis_cpu_sys_main_thread_seconds", "CPU time of the main thread, system.")},
    {"used_cpu_user_main_thread", "s", "of the thread that serves clients, in its own code",
     CpuTime<&ProcessUsage::thread_user_us>,
     Counter("redis_cpu_user_main_thread_seconds", "CPU time of the main thread, user.")},
};

// Clients read this field before they send CLUSTER.
constexpr Figure kClusterFigures[] = {
    {"cluster_enabled", "", "1 in a cluster, else 0",
     [](From from) -> FigureValue { return from.Get<ClusterState>().is_on() ? 1 : 0; }}};

}  // namespace

std::span<const Figure> ServerFigures() { return kServerFigures; }
std::span<const Figure> ClientFigures() { return kClientFigures; }
std::span<const Figure> CpuFigures() { return kCpuFigures; }
std::span<const Figure> ClusterFigures() { return kClusterFigures; }

}  // namespace sluice
