// See batch.h. The prefetching goes through the whole batch once for each level of the table
// (segment, slot, entry, value), so that the fetches of one level overlap. Once a session has a
// condition its requests are parsed one at a time: each may change what the next one is (AUTH,
// MULTI, RESET). Rules are no such condition: they are asked when a request runs.
#include "server/engine/batch.h"

#include <array>
#include <span>

#include "absl/base/attributes.h"
#include "protocol/text/same_bytes.h"
#include "storage/memory/text_block.h"

namespace sluice {
namespace {

constexpr size_t kArgumentsKept = 64 * 1024;
// A master may allow longer arguments than this server does. As in Redis, those that it has taken
// are taken here; no string is longer.
constexpr auto kMasterBulkBytesMax = static_cast<int64_t>(TextBlock::kBytesMax);

}  // namespace

bool Batch::Parse(std::vector<Input>& inputs, size_t& at) {
  size_ = 0;
  arguments_.Clear(kArgumentsKept);  // room for a request of a million is not kept for ever
  last_command_ = nullptr;
  for (size_t index = at; index < inputs.size() && size_ < kRequestsMax; ++index) {
    Input& input = inputs[index];
    if (input.spent()) continue;  // it may have no session any more
    const bool is_master = input.session->kind == SessionKind::kMasterLink;
    const ParseLimits limits{
        .bulk_bytes_max = is_master ? kMasterBulkBytesMax : settings_->proto_max_bulk_len,
        .before_login = (input.session->conditions & kNeedsLogin) != 0};
    while (!input.spent() && size_ < kRequestsMax) {
      if (!ParseOne(input, index, limits)) break;
      if ((input.session->conditions & ~uint32_t{kRestricted}) != 0) break;  // one at a time
    }
  }
  while (at < inputs.size() && inputs[at].spent()) ++at;
  return size_ > 0;
}

// Pipelines repeat themselves: the row of the request before is tried first.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const Command* Batch::Look(std::string_view name) {
  // In this order: the bytes of an old name are gone. Most names are no longer than their number.
  if (!last_command_ || name.size() != last_name_.size() || ShortNumber(name) != last_short_ ||
      (name.size() > kShortBytes && !SameBytes(name, last_name_))) [[unlikely]] {
    LookAnew(name);
  }
  return last_command_;
}

ABSL_ATTRIBUTE_NOINLINE void Batch::LookAnew(std::string_view name) {
  last_command_ = commands_->Find(name);
  last_name_ = name;
  last_short_ = ShortNumber(name);
}

// One request of the input into the batch; false if there is none.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Batch::ParseOne(Input& input, size_t index,
                                                         const ParseLimits& limits) {
  RequestParser& parser = input.session->parser;
  const size_t first = arguments_.size();
  bool broken = false;
  if (!parser.NextWhole(input.rest(), limits, arguments_)) [[unlikely]] {
    const ParseStatus status = parser.Next(input.rest(), limits, arguments_);
    input.starved = status == ParseStatus::kIncomplete;
    if (input.starved) return false;
    broken = status == ParseStatus::kError;
  }
  input.parsed = broken ? input.window.size() : input.parsed + parser.consumed();
  const size_t arguments = arguments_.size() - first;
  if (size_ == requests_.size()) [[unlikely]]
    requests_.resize(size_ == 0 ? 1 : kRequestsMax);
  Request& request = requests_[size_++];
  request.input = static_cast<uint32_t>(index);
  request.first_argument = static_cast<uint32_t>(first);
  request.arguments = static_cast<uint32_t>(arguments);
  request.broken = broken;
  request.end = input.parsed;
  request.command = arguments > 0 ? Look(arguments_[first]) : nullptr;
  request.key = {};
  request.db = nullptr;
  request.likely = nullptr;
  return true;
}

// Of each request the first key, where it has one; and the database that it is likely to be of.
inline void Batch::HashFirstKeys(const std::vector<Input>& inputs) {
  bool objects = false, times = false;
  size_t input = SIZE_MAX;  // of the request before
  Database* db = nullptr;   // that its session has selected
  bool has_times = false;   // some keys there have
  const bool fetches = size_ > 1;
  for (Request& request : std::span(requests_.data(), size_)) {
    const Command* const command = request.command;
    if (!command) continue;
    const auto key = static_cast<uint32_t>(command->first_key);
    if (key == 0 || key >= request.arguments) continue;
    request.key = keyspace_->Hash(arguments_[request.first_argument + key]);
    if (request.input != input) {
      input = request.input;
      const int index = inputs[input].session->db;
      // A SELECT in the batch makes this the wrong table, which costs nothing but the fetch.
      db = keyspace_->made(index) ? &keyspace_->db(index) : nullptr;
      has_times = db && db->volatile_size() > 0;
    }
    request.db = db;
    if (fetches && db) db->Prefetch(request.key);
    objects |= !(command->spec->categories & kCatString);
    times |= command->ends_time & has_times;
  }
  objects_ = objects;
  times_ = times;
}

void Batch::Prefetch(const std::vector<Input>& inputs) {
  HashFirstKeys(inputs);
  if (size_ == 1) return;
  PrefetchEntries();
  moves_ = keyspace_->moves();
  if (objects_) PrefetchObjects();
  if (times_) PrefetchTimers();
}

inline void Batch::PrefetchEntries() {
  const std::span<Request> requests(requests_.data(), size_);
  std::array<const PackedPointer*, kRequestsMax> slots;
  const PackedPointer** slot = slots.data();
  for (const Request& request : requests) {
    *slot++ = request.db ? request.db->PrefetchSlot(request.key) : nullptr;
  }
  slot = slots.data();
  for (Request& request : requests) {
    if (*slot) request.likely = Database::PrefetchEntry(**slot);
    ++slot;
  }
}

// Commands of strings need none of it: but for long ones, the value is in the entry itself.
void Batch::PrefetchObjects() {
  for (const Request& request : requests()) {
    if (request.likely) request.likely->PrefetchValue();
  }
  for (const Request& request : requests()) {
    if (request.likely) request.likely->PrefetchInside();
  }
}

// Of keys with a time that ends with the command: the timer's neighbours are anywhere in memory.
void Batch::PrefetchTimers() {
  for (const Request& request : requests()) {
    if (request.likely && request.command->ends_time) request.likely->PrefetchTimer();
  }
}

}  // namespace sluice
