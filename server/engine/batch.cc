// See batch.h. The prefetching goes through the whole batch once for each level of the table
// (segment, slot, entry, value), so that the fetches of one level overlap. Once a session has a
// condition its requests are parsed one at a time: each may change what the next one is (AUTH,
// MULTI, RESET). Rules are no such condition: they are asked when a request runs.
#include "server/engine/batch.h"

#include "protocol/text/same_bytes.h"

namespace sluice {
namespace {

constexpr size_t kArgumentsKept = 64 * 1024;

}  // namespace

bool Batch::Parse(std::vector<Input>& inputs, size_t& at) {
  requests_.clear();
  arguments_.Clear(kArgumentsKept);  // room for a request of a million is not kept for ever
  last_command_ = nullptr;
  for (size_t index = at; index < inputs.size() && requests_.size() < kRequestsMax; ++index) {
    Input& input = inputs[index];
    while (!input.spent() && requests_.size() < kRequestsMax) {
      if (!ParseOne(inputs, index)) break;
      if ((input.session->conditions & ~uint32_t{kRestricted}) != 0) break;  // one at a time
    }
  }
  while (at < inputs.size() && inputs[at].spent()) ++at;
  return !requests_.empty();
}

// Pipelines repeat themselves: the row of the request before is tried first.
inline const Command* Batch::Look(std::string_view name) {
  // In this order: the bytes of an old name are gone.
  if (last_command_ && SameBytes(name, last_name_)) [[likely]]
    return last_command_;
  last_command_ = commands_->Find(name);
  last_name_ = name;
  return last_command_;
}

// One request of inputs[index] into the batch; false if there is none.
bool Batch::ParseOne(std::vector<Input>& inputs, size_t index) {
  Input& input = inputs[index];
  Session& session = *input.session;
  const ParseLimits limits{.bulk_bytes_max = settings_->proto_max_bulk_len,
                           .before_login = (session.conditions & kNeedsLogin) != 0};
  const size_t first = arguments_.size();
  const ParseStatus status =
      session.parser.Next(input.window.substr(input.parsed), limits, arguments_);
  if (status == ParseStatus::kIncomplete) {
    input.starved = true;
    return false;
  }
  Request request{static_cast<uint32_t>(index),
                  static_cast<uint32_t>(first),
                  static_cast<uint32_t>(arguments_.size() - first),
                  status == ParseStatus::kError,
                  input.window.size(),
                  nullptr,
                  {},
                  nullptr,
                  nullptr,
                  nullptr};
  if (!request.broken) {
    input.parsed += session.parser.consumed();
    request.end = input.parsed;
    if (request.arguments > 0) request.command = Look(arguments_[first]);
  } else {
    input.parsed = input.window.size();
  }
  requests_.push_back(request);
  return true;
}

void Batch::Prefetch(const std::vector<Input>& inputs) {
  objects_ = false;
  for (Request& request : requests_) {
    if (!request.command || request.command->first_key == 0) continue;
    const auto key = static_cast<uint32_t>(request.command->first_key);
    if (key >= request.arguments) continue;
    request.key = keyspace_->Hash(arguments_[request.first_argument + key]);
    // A SELECT in the batch makes this the wrong table, which costs nothing but the fetch.
    const int db = inputs[request.input].session->db;
    if (requests_.size() > 1 && keyspace_->made(db)) request.db = &keyspace_->db(db);
    objects_ |= !(request.command->spec->categories & kCatString);
  }
  for (const Request& request : requests_) {
    if (request.db) request.db->Prefetch(request.key);
  }
  for (Request& request : requests_) {
    if (request.db) request.slot = request.db->PrefetchSlot(request.key);
  }
  for (Request& request : requests_) {
    if (request.slot) request.likely = Database::PrefetchEntry(*request.slot);
  }
  if (objects_) PrefetchObjects();
}

// Commands of strings need none of it: but for long ones, the value is in the entry itself.
void Batch::PrefetchObjects() {
  for (const Request& request : requests_) {
    if (request.likely) request.likely->PrefetchValue();
  }
  for (const Request& request : requests_) {
    if (request.likely) request.likely->PrefetchInside();
  }
}

}  // namespace sluice
