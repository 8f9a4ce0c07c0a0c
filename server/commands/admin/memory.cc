// The MEMORY family: what a key takes, what takes the server's memory, and what the allocator has.
// How it adds up is in memory_report.h.
//
// Bytes are those that Sluice accounts for, which is what it can know exactly. STATS shows beside
// them what the allocator rounds up and keeps.
//
//   used_memory       what Sluice accounts for: keys, scripts, clients
//   allocator.*       what the allocator has handed out, and holds
//   rss               what the system sees of the process

#include <span>
#include <string>

#include "protocol/text/concat.h"
#include "server/clients/host.h"
#include "server/commands/admin/memory_report.h"
#include "server/commands/families.h"
#include "server/commands/shared/help.h"
#include "server/commands/shared/option_table.h"
#include "server/commands/shared/rows.h"
#include "server/dispatch/arg_reader.h"
#include "server/engine/defragmenter.h"
#include "server/engine/facts.h"

namespace sluice {
namespace {

constexpr OptionRow<int64_t> kSamples[] = {
    {"SAMPLES",
     [](ArgReader& args, int64_t& samples) {
       if ((samples = args.Int()) < 0) args.Fail(ErrorCode::kSyntax);
     },
     1},
};

// Every value knows its size, so nothing is sampled; SAMPLES is read for its mistakes alone.
bool ReadSamples(CommandCall& call) {
  ArgReader args(call.args, 3);
  int64_t samples = 0;
  ReadOptions(args, kSamples, samples);
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// The entry with its key, its value and its timer. A look: no access is marked.
void Usage(CommandCall& call) {
  if (!ReadSamples(call)) return;
  const Entry* const entry = call.db.Find(call.Key(2), call.now);
  if (!entry) return call.reply.Null();
  call.reply.Integer(static_cast<int64_t>(entry->MemoryBytes()));
}

// --- STATS

// A field of the answer.
struct Count {
  std::string_view name;
  int64_t value;
};

// A name and a number for each, in the order of the table.
void ReplyCounts(ReplySink& reply, std::span<const Count> counts) {
  for (const Count& count : counts) {
    reply.Bulk(count.name);
    reply.Integer(count.value);
  }
}

// A double in RESP3, text in RESP2.
void ReplyRatio(ReplySink& reply, std::string_view name, double value) {
  reply.Bulk(name);
  reply.Double(value);
}

// A quotient and a difference of the same two numbers; Redis names the two in no regular way.
void ReplyExcess(ReplySink& reply, std::string_view name, std::string_view ratio_name,
                 const MemoryExcess& excess) {
  ReplyRatio(reply, ratio_name, excess.ratio());
  reply.Bulk(Concat(name, ".bytes"));
  reply.Integer(excess.bytes());
}

// Redis's "hash tables": the directory of keys, and what deadlines take.
void ReplyDatabase(ReplySink& reply, const DatabaseOverhead& database) {
  reply.Bulk(Concat("db.", database.index));
  reply.Map(3);
  const Count counts[] = {{"overhead.hashtable.main", database.table_bytes},
                          {"overhead.hashtable.expires", database.timer_bytes},
                          {"overhead.hashtable.slot-to-keys", 0}};
  ReplyCounts(reply, counts);
}

// O(databases). The number of fields is said first, and grows by one for each database that has
// keys. Ours stand behind Redis's: what is neither keys nor clients, one by one; with
// `clients.slaves`, `clients.normal` and what the keyspace takes they are `total.allocated`.
void Stats(CommandCall& call) {
  constexpr size_t kFieldsBesidesDatabases = 27;
  const MemoryReport report = ReportMemory(call.parts);
  const MemoryAccounts& accounts = call.part<Facts>().accounts();
  ReplySink& reply = call.reply;
  reply.Map(kFieldsBesidesDatabases + report.databases.size() + MemoryAccounts::Rows().size());
  const Count first[] = {{"peak.allocated", report.peak},
                         {"total.allocated", report.used},
                         {"startup.allocated", report.startup},
                         {"replication.backlog", report.backlog},
                         {"clients.slaves", report.replicas},
                         {"clients.normal", report.clients},
                         {"cluster.links", 0},
                         {"aof.buffer", 0},
                         {"lua.caches", report.scripts},
                         {"functions.caches", report.functions}};
  ReplyCounts(reply, first);
  for (const DatabaseOverhead& database : report.databases) ReplyDatabase(reply, database);
  const Count second[] = {{"overhead.total", report.overhead},
                          {"keys.count", report.keys},
                          {"keys.bytes-per-key", report.bytes_per_key()},
                          {"dataset.bytes", report.dataset()}};
  ReplyCounts(reply, second);
  ReplyRatio(reply, "dataset.percentage", report.dataset_percentage());
  ReplyRatio(reply, "peak.percentage", report.peak_percentage());
  const Count allocator[] = {{"allocator.allocated", report.allocator.allocated_bytes},
                             {"allocator.active", report.allocator.active_bytes},
                             {"allocator.resident", report.allocator.resident_bytes}};
  ReplyCounts(reply, allocator);
  ReplyExcess(reply, "allocator-fragmentation", "allocator-fragmentation.ratio",
              report.allocator_fragmentation());
  ReplyExcess(reply, "allocator-rss", "allocator-rss.ratio", report.allocator_resident());
  ReplyExcess(reply, "rss-overhead", "rss-overhead.ratio", report.process_resident());
  ReplyExcess(reply, "fragmentation", "fragmentation", report.fragmentation());
  for (const MemoryAccounts::Row& row : MemoryAccounts::Rows()) {
    reply.Bulk(row.name);
    reply.Integer(static_cast<int64_t>(accounts.Of(row)));
  }
}

// --- the rest

// For people.
void MemoryDoctor(CommandCall& call) { call.reply.Verbatim(MemoryDoctorReport(call.parts), "txt"); }

// The allocator gives free pages back to the system, in one piece, and entries on sparse pages are
// moved in the turns that follow. Without such an allocator it does nothing.
void Purge(CommandCall& call) {
  call.part<Host>().process().ReleaseMemory();
  call.part<Defragmenter>().Begin();
  call.reply.Ok();
}

// The allocator's own report, in its own form.
void MallocStats(CommandCall& call) {
  const std::string report = call.part<Host>().process().AllocatorReport();
  if (report.empty()) return call.reply.Bulk("Stats not supported for the current allocator");
  call.reply.Verbatim(report, "txt");
}

constexpr std::string_view kMemoryHelp[] = {
    "DOCTOR",
    "    Return memory problems reports.",
    "MALLOC-STATS",
    "    Return internal statistics report from the memory allocator.",
    "PURGE",
    "    Attempt to purge dirty pages for reclamation by the allocator.",
    "STATS",
    "    Return information about the memory usage of the server.",
    "USAGE <key> [SAMPLES <count>]",
    "    Return memory in bytes used by <key> and its value. Nested values are",
    "    sampled up to <count> times (default: 5, 0 means sample all).",
};

void MemoryHelp(CommandCall& call) { ReplyHelp(call, kMemoryHelp); }

// --- the table

constexpr std::string_view kMemoryTips =
    "nondeterministic_output,request_policy:all_shards,response_policy:special";
constexpr std::string_view kSlowWhereMuch =
    "Depends on how much memory is allocated, could be slow";

// USAGE alone has a key; the others speak of the process.
constexpr CommandRow kMemorySubcommands[] = {
    {.name = "USAGE",
     .arity = -3,
     .flags = kReadOnly,
     .keys = KeyAt(2, kKeyRo),
     .run = Usage,
     .group = "server",
     .since = "4.0.0",
     .complexity = "O(1)",
     .usage = "key [SAMPLES count]",
     .summary = "How many bytes a key takes, its value and all included."},
    {.name = "STATS",
     .arity = 2,
     .run = Stats,
     .group = "server",
     .since = "4.0.0",
     .complexity = "O(N) where N is the number of segments of all databases",
     .summary = "What takes how much of the server's memory.",
     .tips = kMemoryTips},
    {.name = "DOCTOR",
     .arity = 2,
     .run = MemoryDoctor,
     .group = "server",
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "What is wrong with the memory, in words.",
     .tips = kMemoryTips},
    {.name = "PURGE",
     .arity = 2,
     .run = Purge,
     .group = "server",
     .since = "4.0.0",
     .complexity = kSlowWhereMuch,
     .summary = "Give free memory back to the system.",
     .tips = "request_policy:all_shards,response_policy:all_succeeded"},
    {.name = "MALLOC-STATS",
     .arity = 2,
     .run = MallocStats,
     .group = "server",
     .since = "4.0.0",
     .complexity = kSlowWhereMuch,
     .summary = "What the allocator tells of itself.",
     .tips = kMemoryTips},
    {.name = "HELP",
     .arity = 2,
     .flags = kLoading | kStale,
     .run = MemoryHelp,
     .group = "server",
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "The subcommands in short."},
};

constexpr CommandRow kMemoryRows[] = {
    {.name = "MEMORY",
     .arity = -2,
     .subcommands = kSpecsOf<kMemorySubcommands>,
     .group = "server",
     .since = "4.0.0",
     .complexity = "Depends on subcommand.",
     .summary = "What takes memory."},
};

}  // namespace

CommandFamily MemoryFamily() { return {"memory", kSpecsOf<kMemoryRows>}; }

}  // namespace sluice
