// See slow_log.h.
#include "server/observe/slow_log.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// Redis's SLOWLOG_ENTRY_MAX_ARGC and SLOWLOG_ENTRY_MAX_STRING.
constexpr size_t kArgumentsMax = 32;
constexpr size_t kArgumentBytesMax = 128;

constexpr std::string_view kNobody = "?:0";

// The first 128 bytes, and how many more there were.
std::string Cut(std::string_view argument) {
  if (argument.size() <= kArgumentBytesMax) return std::string(argument);
  return Concat(argument.substr(0, kArgumentBytesMax), "... (", argument.size() - kArgumentBytesMax,
                " more bytes)");
}

// At most 32 elements: of more arguments the first 31, and how many more there were.
std::vector<std::string> Kept(Args args, std::span<const size_t> secret) {
  const bool too_many = args.size() > kArgumentsMax;
  const size_t shown = too_many ? kArgumentsMax - 1 : args.size();
  std::vector<std::string> kept;
  kept.reserve(std::min(args.size(), kArgumentsMax));
  for (size_t i = 0; i < shown; ++i) {
    const bool hidden = std::ranges::find(secret, i) != secret.end();
    kept.push_back(hidden ? "(redacted)" : Cut(args[i]));
  }
  if (too_many) kept.push_back(Concat("... (", args.size() - shown, " more arguments)"));
  return kept;
}

}  // namespace

// O(arguments), at most 32 of them.
void SlowLog::Add(const Client& client, Args args, std::span<const size_t> secret, int64_t unix_s,
                  int64_t micros) {
  Push({.unix_s = unix_s,
        .micros = micros,
        .args = Kept(args, secret),
        .address = std::string(client.address.empty() ? kNobody : client.address),
        .client_name = std::string(client.name)});
}

// Ids grow over the life of the server, whether or not entries are kept.
void SlowLog::Push(SlowEntry entry) {
  entry.id = next_id_++;
  entries_.push_front(std::move(entry));
  set_entries_max(entries_max_);
}

// The oldest stand at the end, and go first.
void SlowLog::set_entries_max(size_t count) {
  entries_max_ = count;
  entries_.Truncate(count);
}

// An estimate: short texts lie in their string objects and are counted twice.
size_t SlowLog::MemoryBytes() const {
  size_t bytes = 0;
  for (const SlowEntry& entry : entries_) {
    bytes += sizeof(entry) + entry.args.capacity() * sizeof(std::string) +
             entry.address.capacity() + entry.client_name.capacity();
    for (const std::string& argument : entry.args) bytes += argument.capacity();
  }
  return bytes;
}

}  // namespace sluice
