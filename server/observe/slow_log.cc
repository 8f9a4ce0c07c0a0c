// See slow_log.h.
#include "server/observe/slow_log.h"

#include <algorithm>
#include <utility>

#include "protocol/text/concat.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

// Redis's SLOWLOG_ENTRY_MAX_STRING.
constexpr size_t kArgumentBytesMax = 128;

constexpr std::string_view kNobody = "?:0";

// The first 128 bytes, and how many more there were.
std::string Cut(std::string_view argument) {
  if (argument.size() <= kArgumentBytesMax) return std::string(argument);
  return Concat(argument.substr(0, kArgumentBytesMax), "... (", argument.size() - kArgumentBytesMax,
                " more bytes)");
}

// At most `most` elements: of more arguments one fewer, and how many more there were.
std::vector<std::string> Kept(Args args, std::span<const size_t> secret, size_t most) {
  const bool too_many = args.size() > most;
  const size_t shown = too_many ? most - 1 : args.size();
  std::vector<std::string> kept;
  kept.reserve(std::min(args.size(), most));
  for (size_t i = 0; i < shown; ++i) {
    const bool hidden = std::ranges::find(secret, i) != secret.end();
    kept.push_back(hidden ? "(redacted)" : Cut(args[i]));
  }
  if (too_many) kept.push_back(Concat("... (", args.size() - shown, " more arguments)"));
  return kept;
}

}  // namespace

void SlowLog::Add(const Client& client, Args args, std::span<const size_t> secret, int64_t unix_s,
                  int64_t micros) {
  Push({.unix_s = unix_s,
        .micros = micros,
        .args = Kept(args, secret, args_max_),
        .args_given = args.size(),
        .address = std::string(client.address.empty() ? kNobody : client.address),
        .client_name = std::string(client.name)});
}

// Ids grow over the life of the server, whether or not entries are kept.
void SlowLog::Push(SlowEntry entry) {
  entry.id = next_id_++;
  bytes_ += BytesOf(entry);
  entries_.push_front(std::move(entry));
  set_entries_max(entries_max_);
}

void SlowLog::set_entries_max(size_t count) {
  entries_max_ = count;
  for (; entries_.size() > count; entries_.pop_back()) bytes_ -= BytesOf(entries_.back());
}

size_t SlowLog::BytesOf(const SlowEntry& entry) {
  size_t bytes = sizeof(entry) + HeapBytes(entry.args) + HeapBytes(entry.address) +
                 HeapBytes(entry.client_name);
  for (const std::string& argument : entry.args) bytes += HeapBytes(argument);
  return bytes;
}

}  // namespace sluice
