// See memory_report.h.
#include "server/commands/admin/memory_report.h"

#include <algorithm>

#include "protocol/text/concat.h"
#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/engine/facts.h"
#include "server/engine/script_engine.h"
#include "server/replication/replicas.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {
namespace {

// 0 where nothing is known of the divisor.
double Ratio(int64_t a, int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

// --- the doctor. The limits are Redis's.

// Redis's limits: below 5 MB no report, an excess below 10 MB is no issue, 200 kB a client, 1000
// scripts.
constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kTooLittle = 5 * kMegabyte;
constexpr int64_t kExcessBytes = 10 * kMegabyte;
constexpr int64_t kClientBytes = 200 * 1024;
constexpr size_t kScripts = 1000;

constexpr std::string_view kEmptyServer =
    "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be "
    "used "
    "in these conditions. Please, leave for your mission on Earth and fill it with some data. The "
    "new "
    "Sam and I will be back to our programming as soon as I finished rebooting.\n";
constexpr std::string_view kHealthy =
    "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on "
    "this base.\n";
constexpr std::string_view kIssues =
    "Sam, I detected a few issues in this Redis instance memory implants:\n\n";
constexpr std::string_view kFarewell = "I'm here to keep you safe, Sam. I want to help you.\n";

// Both by quotient and by bytes: a small server has large quotients without a problem.
bool IsHigh(const MemoryExcess& excess, double ratio) {
  return excess.ratio() > ratio && excess.bytes() > kExcessBytes;
}

// A rule and its advice; the rules are asked in this order.
struct Issue {
  bool (*found)(const MemoryReport& report, const Parts& parts);
  std::string_view text;
};
// Under Redis's headings, with what is true of Sluice.
constexpr Issue kIssueRows[] = {
    {[](const MemoryReport& report, const Parts&) { return Ratio(report.peak, report.used) > 1.5; },
     " * Peak memory: In the past this instance used more than 150% the memory that is currently "
     "using. What came free is given back to the system when the server has nothing else to do, "
     "and "
     "by the MEMORY PURGE command, as far as whole pages of it are free; the rest will be used as "
     "soon as you fill the instance with more data.\n\n"},
    {[](const MemoryReport& report, const Parts&) { return IsHigh(report.fragmentation(), 1.4); },
     " * High total RSS: This instance has a memory fragmentation and RSS overhead greater than "
     "1.4 "
     "(this means that the Resident Set Size of the process is much larger than the sum of what it "
     "accounts for). This problem is usually due either to a large peak memory (check if there is "
     "a "
     "peak memory entry above in the report) or to values of many sizes that come and go. If the "
     "problem is a large peak memory, then there is no issue.\n\n"},
    {[](const MemoryReport& report, const Parts&) {
       return IsHigh(report.allocator_fragmentation(), 1.1);
     },
     " * High allocator fragmentation: This instance has an allocator external fragmentation "
     "greater "
     "than 1.1: pages of the allocator are in use only in part. This problem is usually due either "
     "to "
     "a large peak memory (check if there is a peak memory entry above in the report) or to values "
     "of "
     "many sizes that come and go.\n\n"},
    {[](const MemoryReport& report, const Parts&) {
       return IsHigh(report.allocator_resident(), 1.1);
     },
     " * High allocator RSS overhead: This instance has an RSS memory overhead is greater than 1.1 "
     "(this means that the allocator keeps much more memory than its pages in use take). This "
     "problem "
     "is usually due to a large peak memory (check if there is a peak memory entry above in the "
     "report), you can try the MEMORY PURGE command to reclaim it.\n\n"},
    {[](const MemoryReport& report, const Parts&) {
       return IsHigh(report.process_resident(), 1.1);
     },
     " * High process RSS overhead: This instance has non-allocator RSS memory overhead is greater "
     "than 1.1 (this means that the Resident Set Size of the process is much larger than the "
     "memory "
     "that the allocator holds).\n\n"},
    {[](const MemoryReport& report, const Parts& parts) {
       const size_t connected = parts.Get<Clients>().connected();
       const auto clients = static_cast<int64_t>(std::max<size_t>(connected, 1));
       return report.clients / clients > kClientBytes;
     },
     " * Big client buffers: The clients output buffers in this instance are greater than 200K per "
     "client (on average). This may result from different causes, like Pub/Sub clients subscribed "
     "to "
     "channels bot not receiving data fast enough, so that data piles on the instance output "
     "buffer, "
     "or clients sending commands with large replies or very large sequences of commands in the "
     "same "
     "pipeline. Please use the CLIENT LIST command in order to investigate the issue if it causes "
     "problems in your instance, or to understand better why certain clients are using a big "
     "amount "
     "of memory.\n\n"},
    {[](const MemoryReport&, const Parts& parts) {
       return parts.Get<ScriptEngine>().cache().size() > kScripts;
     },
     " * Many scripts: There seem to be many cached scripts in this instance (more than 1000). "
     "This "
     "may be because scripts are generated and `EVAL`ed, instead of being parameterized (with KEYS "
     "and ARGV), `SCRIPT LOAD`ed and `EVALSHA`ed. Unless `SCRIPT FLUSH` is called periodically, "
     "the "
     "scripts' caches may end up consuming most of your memory.\n\n"},
};

}  // namespace

double MemoryExcess::ratio() const { return Ratio(has, needs); }

// Both sides without the memory that the server had at its start.
double MemoryReport::dataset_percentage() const { return Ratio(dataset() * 100, used - startup); }

double MemoryReport::peak_percentage() const { return Ratio(used * 100, peak); }

// Four numbers in a chain, each at least about as large as the one before: bytes handed out, pages
// in use, pages held, the process. Each of these compares two neighbours.
MemoryExcess MemoryReport::allocator_fragmentation() const {
  return {allocator.active_bytes, allocator.allocated_bytes};
}

MemoryExcess MemoryReport::allocator_resident() const {
  return {allocator.resident_bytes, allocator.active_bytes};
}

MemoryExcess MemoryReport::process_resident() const { return {resident, allocator.resident_bytes}; }

// The two ends: what the system sees against what Sluice accounts for.
MemoryExcess MemoryReport::fragmentation() const { return {resident, used}; }

// Reads what others count; O(databases) and O(clients).
MemoryReport ReportMemory(const Parts& parts) {
  Keyspace& keyspace = parts.Get<Keyspace>();
  const ScriptCache& cache = parts.Get<ScriptEngine>().cache();
  const FunctionLibraries& functions = parts.Get<ScriptEngine>().functions();
  MemoryReport report;
  report.used = static_cast<int64_t>(parts.Get<Facts>().UsedMemory());
  report.peak = std::max(static_cast<int64_t>(parts.Get<Facts>().memory_peak()), report.used);
  report.startup = static_cast<int64_t>(parts.Get<Facts>().startup_memory());
  report.scripts = static_cast<int64_t>(cache.text_bytes() + cache.lua_bytes());
  report.functions = static_cast<int64_t>(functions.code_bytes() + functions.lua_bytes());
  const Clients& clients = parts.Get<Clients>();
  report.replicas = static_cast<int64_t>(clients.ReplicaBytes());
  const Replicas& stream = parts.Get<Replicas>();
  report.backlog = static_cast<int64_t>(stream.memory() - stream.memory_beyond_backlog());
  report.clients = static_cast<int64_t>(clients.MemoryBytes()) - report.replicas;
  report.resident = parts.Get<Host>().process().Usage().resident_bytes;
  report.allocator = parts.Get<Host>().process().Allocator();
  report.overhead = report.used - static_cast<int64_t>(keyspace.memory_bytes());
  for (int i = 0; i < keyspace.databases(); ++i) {
    if (!keyspace.made(i) || keyspace.db(i).size() == 0) continue;
    const Database& db = keyspace.db(i);
    report.keys += static_cast<int64_t>(db.size());
    report.databases.push_back(
        {.index = i,
         .table_bytes = static_cast<int64_t>(db.table_bytes()),
         .timer_bytes = static_cast<int64_t>(db.volatile_size() * sizeof(TimerNode))});
    report.overhead += report.databases.back().table_bytes + report.databases.back().timer_bytes;
  }
  return report;
}

// Below 5 MB no rule means anything, so none is asked.
std::string MemoryDoctorReport(const Parts& parts) {
  const MemoryReport report = ReportMemory(parts);
  if (report.used < kTooLittle) return std::string(kEmptyServer);
  std::string issues;
  for (const Issue& issue : kIssueRows) {
    if (issue.found(report, parts)) issues += issue.text;
  }
  if (issues.empty()) return std::string(kHealthy);
  return Concat(kIssues, issues, kFarewell);
}

}  // namespace sluice
