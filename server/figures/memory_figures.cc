// Figures of memory. used_memory is what Sluice accounts for, and maxmemory bounds; the system's
// view of the process is used_memory_rss.

#include "server/clients/clients.h"
#include "server/config/config.h"
#include "server/engine/defragmenter.h"
#include "server/engine/facts.h"
#include "server/engine/script_engine.h"
#include "server/figures/sections.h"
#include "server/log/log_service.h"
#include "server/observe/statistics.h"
#include "server/replication/replicas.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

constexpr auto kUsedMemory = Of<&FigureSources::used_memory>;
constexpr auto kResident = Of<&FigureSources::usage, &ProcessUsage::resident_bytes>;
constexpr auto kResidentPeak = Of<&FigureSources::usage, &ProcessUsage::resident_peak_bytes>;
constexpr auto kPeakMemory = Of<&FigureSources::peak_memory>;
constexpr auto kMachineMemory = Of<&Facts::process, &ProcessFacts::machine_memory>;
constexpr auto kMaxMemory = Of<&Config::settings, &Settings::maxmemory>;
constexpr auto kAllocated = Of<&FigureSources::allocator, &AllocatorUsage::allocated_bytes>;
constexpr auto kActive = Of<&FigureSources::allocator, &AllocatorUsage::active_bytes>;
constexpr auto kAllocatorHolds = Of<&FigureSources::allocator, &AllocatorUsage::resident_bytes>;
// EVAL's interpreter and FUNCTION's are two, each with its own bytes.
constexpr auto kEvalMemory = Of<&ScriptEngine::cache, &ScriptCache::lua_bytes>;
constexpr auto kFunctionMemory = Of<&ScriptEngine::functions, &FunctionLibraries::lua_bytes>;
constexpr auto kEvalTexts = Of<&ScriptEngine::cache, &ScriptCache::text_bytes>;
constexpr auto kFunctionTexts = Of<&ScriptEngine::functions, &FunctionLibraries::code_bytes>;

using ReadBytes = FigureValue (*)(From from);

uint64_t BytesOf(ReadBytes bytes, From from) { return static_cast<uint64_t>(bytes(from).number()); }

template <ReadBytes a, ReadBytes b>
FigureValue Sum(From from) {
  return BytesOf(a, from) + BytesOf(b, from);
}
// Differences may be negative, as the numbers are taken one after the other.
template <ReadBytes a, ReadBytes b>
FigureValue Difference(From from) {
  return static_cast<int64_t>(BytesOf(a, from) - BytesOf(b, from));
}
template <ReadBytes a, ReadBytes b>
FigureValue Ratio(From from) {
  return RatioText(BytesOf(a, from), BytesOf(b, from));
}
template <ReadBytes a, ReadBytes b>
FigureValue Percentage(From from) {
  return Concat(RatioText(BytesOf(a, from) * 100, BytesOf(b, from)), '%');
}

FigureValue ClientBytes(From from) {
  const Clients& clients = from.Get<Clients>();
  return clients.MemoryBytes() - clients.ReplicaBytes();
}
FigureValue NotForEviction(From from) {
  return from.Get<Clients>().uncounted_bytes() + from.Get<Replicas>().memory_beyond_backlog();
}
FigureValue Overhead(From from) { return from.used_memory() - from.dataset(); }

constexpr std::string_view kForPeople = "the same for people";

constexpr Figure kMemoryFigures[] = {
    {"used_memory", "bytes", "what Sluice accounts for; `maxmemory` bounds it", kUsedMemory,
     Gauge("redis_memory_used_bytes", "Memory of keys, scripts and clients, as counted.")},
    {"used_memory_human", "", kForPeople, Human<kUsedMemory>},
    {"used_memory_rss", "bytes", "what the system has given to the process", kResident,
     Gauge("redis_memory_used_rss_bytes", "Resident memory of the process."), Plot::kMemory},
    {"used_memory_rss_human", "", kForPeople, Human<kResident>},
    {"used_memory_peak", "bytes", "the most that used_memory has been", kPeakMemory,
     Gauge("redis_memory_used_peak_bytes", "The most that was used at once.")},
    {"used_memory_peak_human", "", kForPeople, Human<kPeakMemory>},
    {"used_memory_peak_perc", "%", "used_memory of that", Percentage<kUsedMemory, kPeakMemory>},
    {"used_memory_overhead", "bytes", "used_memory without keys and values", Overhead,
     Gauge("redis_memory_used_overhead_bytes", "What is used beside the data.")},
    {"used_memory_startup", "bytes", "used_memory of the empty server", Of<&Facts::startup_memory>,
     Gauge("redis_memory_used_startup_bytes", "What the empty server used.")},
    {"used_memory_dataset", "bytes", "keys and values, locks and limiters among them",
     Of<&FigureSources::dataset>,
     Gauge("redis_memory_used_dataset_bytes", "Memory of keys and their values.")},
    {"used_memory_dataset_perc", "%", "that of used_memory",
     Percentage<Of<&FigureSources::dataset>, kUsedMemory>},
    {"allocator_allocated", "bytes", "what the allocator has handed out", kAllocated,
     Gauge("redis_allocator_allocated_bytes", "What the allocator has handed out.")},
    {"allocator_active", "bytes", "pages of that", kActive,
     Gauge("redis_allocator_active_bytes", "Pages that hold some of it.")},
    {"allocator_resident", "bytes", "pages that the allocator holds", kAllocatorHolds,
     Gauge("redis_allocator_resident_bytes", "Pages that the allocator holds.")},
    {"total_system_memory", "bytes", "of the machine", kMachineMemory},
    {"total_system_memory_human", "", kForPeople, Human<kMachineMemory>},
    {"used_memory_lua", "bytes", "the interpreter of EVAL", kEvalMemory,
     Gauge("redis_memory_used_lua_bytes", "Memory of EVAL's interpreter.")},
    {"used_memory_vm_eval", "bytes", "the same", kEvalMemory},
    {"used_memory_lua_human", "", kForPeople, Human<kEvalMemory>},
    {"used_memory_scripts_eval", "bytes", "texts of cached scripts", kEvalTexts},
    {"number_of_cached_scripts", "", "of EVAL", Of<&ScriptEngine::cache, &ScriptCache::size>,
     Gauge("redis_number_of_cached_scripts", "Scripts that EVALSHA finds.")},
    {"number_of_functions", "", "of FUNCTION",
     Of<&ScriptEngine::functions, &FunctionLibraries::function_count>},
    {"number_of_libraries", "", "of FUNCTION",
     [](From from) { return from.Get<ScriptEngine>().functions().all().size(); }},
    {"used_memory_vm_functions", "bytes", "the interpreter of functions", kFunctionMemory},
    {"used_memory_vm_total", "bytes", "both interpreters", Sum<kEvalMemory, kFunctionMemory>},
    {"used_memory_vm_total_human", "", kForPeople, Human<Sum<kEvalMemory, kFunctionMemory>>},
    {"used_memory_functions", "bytes", "texts of libraries", kFunctionTexts},
    {"used_memory_scripts", "bytes", "texts of scripts and libraries",
     Sum<kEvalTexts, kFunctionTexts>},
    {"used_memory_scripts_human", "", kForPeople, Human<Sum<kEvalTexts, kFunctionTexts>>},
    {"maxmemory", "bytes", "the option; 0: no bound", kMaxMemory,
     Gauge("redis_memory_max_bytes", "maxmemory; 0: no limit.")},
    {"maxmemory_human", "", kForPeople, Human<kMaxMemory>},
    {"maxmemory_policy", "", "the option", Of<&Config::settings, &Settings::maxmemory_policy>},
    // Quotients of neighbours in a chain: bytes handed out, their pages, pages held, the process.
    {"allocator_frag_ratio", "", "allocator_active by allocator_allocated",
     Ratio<kActive, kAllocated>},
    {"allocator_frag_bytes", "bytes", "their difference", Difference<kActive, kAllocated>},
    {"allocator_rss_ratio", "", "allocator_resident by allocator_active",
     Ratio<kAllocatorHolds, kActive>},
    {"allocator_rss_bytes", "bytes", "their difference", Difference<kAllocatorHolds, kActive>},
    {"rss_overhead_ratio", "", "used_memory_rss by allocator_resident",
     Ratio<kResident, kAllocatorHolds>},
    {"rss_overhead_bytes", "bytes", "their difference", Difference<kResident, kAllocatorHolds>},
    {"mem_fragmentation_ratio", "", "used_memory_rss by used_memory",
     Ratio<kResident, kUsedMemory>},
    {"mem_fragmentation_bytes", "bytes", "their difference", Difference<kResident, kUsedMemory>},
    {"mem_not_counted_for_evict", "bytes",
     "what waits for slow replicas; their outputs count while maxmemory is set", NotForEviction},
    {"mem_replication_backlog", "bytes", "the stream to replicas, up to repl-backlog-size",
     [](From from) {
       const Replicas& replicas = from.Get<Replicas>();
       return replicas.memory() - replicas.memory_beyond_backlog();
     }},
    {"mem_total_replication_buffers", "bytes", "the same, with what slow replicas lack",
     Of<&Replicas::memory>},
    {"mem_clients_slaves", "bytes", "replicas and their buffers", Of<&Clients::ReplicaBytes>},
    {"mem_clients_normal", "bytes", "clients and their buffers", ClientBytes},
    {"mem_cluster_links", "", "0, kept for monitors: there is no cluster", Zero},
    {"mem_aof_buffer", "bytes", "of the log, waiting for the disk",
     Of<&LogService::commits, &CommitLog::waiting_bytes>},
    {"mem_allocator", "", "which malloc it is", Of<&Facts::process, &ProcessFacts::allocator>},
    {"active_defrag_running", "%",
     "of the time that moving entries off sparse pages takes; 0: none are moved",
     Of<&Defragmenter::percent>},
    {"lazyfree_pending_objects", "",
     "pieces of big values and flushed databases, still to be freed",
     Of<&Keyspace::waiting_to_be_freed>,
     Gauge("redis_lazyfree_pending_objects", "Pieces that are still to be freed.")},
    {"lazyfreed_objects", "", "those that have been freed", Of<&Statistics::freed_lazily>},
    {"used_memory_rss_peak", "bytes", "the most that used_memory_rss has been", kResidentPeak},
    {"used_memory_rss_peak_human", "", kForPeople, Human<kResidentPeak>},
    {"memory_returned_bytes", "bytes",
     "what was resident for nothing and went back to the system, since the start",
     Of<&Statistics::returned_bytes>},
};

}  // namespace

std::span<const Figure> MemoryFigures() { return kMemoryFigures; }

}  // namespace sluice
