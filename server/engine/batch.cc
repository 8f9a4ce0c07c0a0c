// See batch.h. The prefetching goes through the whole batch once for each level of the table
// (segment, slot, entry, value), so that the fetches of one level overlap; the first of them goes
// with parsing, while a request's words are at hand. Once a session has a condition its requests
// are parsed one at a time: each may change what the next one is (AUTH, MULTI, RESET). Rules are no
// such condition: they are asked when a request runs.
#include "server/engine/batch.h"

#include <array>
#include <span>

#include "absl/base/attributes.h"
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
  objects_ = times_ = false;
  const size_t end = inputs.size();
  for (size_t index = at; index < end && size_ < kRequestsMax; ++index) {
    Input& input = inputs[index];
    if (input.spent()) continue;  // it may have no session any more
    const bool is_master = input.session->kind == SessionKind::kMasterLink;
    const ParseLimits limits{
        .bulk_bytes_max = is_master ? kMasterBulkBytesMax : settings_->proto_max_bulk_len,
        .before_login = (input.session->conditions & kNeedsLogin) != 0};
    const Table table = TableOf(*input.session);
    do {
      if (!ParseOne(input, index, limits, table)) break;
      if ((input.session->conditions & ~uint32_t{kRestricted}) != 0) break;  // one at a time
    } while (!input.spent() && size_ < kRequestsMax);
  }
  while (at < end && inputs[at].spent()) ++at;
  return size_ > 0;
}

// One request of the input into the batch; false if there is none.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Batch::ParseOne(Input& input, size_t index,
                                                         const ParseLimits& limits,
                                                         const Table& table) {
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
  if (size_ == room_) [[unlikely]]
    requests_.resize(room_ = size_ == 0 ? 1 : kRequestsMax);
  Request& request = requests_[size_++];
  request.input = static_cast<uint32_t>(index);
  request.first_argument = static_cast<uint32_t>(first);
  request.arguments = static_cast<uint32_t>(arguments);
  request.broken = broken;
  request.end = input.parsed;
  request.command = arguments > 0 ? names_.Find(arguments_[first]) : nullptr;
  request.likely = nullptr;
  HashFirstKey(request, table);
  return true;
}

// A SELECT in the batch makes this the wrong table, which costs nothing but the fetch.
inline Batch::Table Batch::TableOf(const Session& session) const {
  if (!keyspace_->made(session.db)) return {};
  Database& db = keyspace_->db(session.db);
  return {&db, db.volatile_size() > 0};
}

// Where it has one. A request that comes alone has nothing to overlap with: the first is fetched
// when a second one has come.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Batch::HashFirstKey(Request& request, const Table& table) {
  const Command* const command = request.command;
  const auto key = command ? static_cast<uint32_t>(command->first_key) : 0;
  if (key == 0 || key >= request.arguments) {
    request.key = {};
    request.db = nullptr;
    return;
  }
  // All that is told by the row comes before the hash, which is a call: little has to be kept over
  // it.
  objects_ |= !(command->spec->categories & kCatString);
  times_ |= command->ends_time & table.has_times;
  request.db = table.db;
  request.key = keyspace_->Hash(arguments_[request.first_argument + key]);
  if (size_ > 1 && request.db) [[likely]] {
    if (size_ == 2) [[unlikely]]
      PrefetchFirst();
    request.db->Prefetch(request.key);
  }
}

ABSL_ATTRIBUTE_NOINLINE void Batch::PrefetchFirst() {
  const Request& request = requests_.front();
  if (request.db) request.db->Prefetch(request.key);
}

void Batch::Prefetch() {
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
