// See stream_group.h.
#include "storage/types/streams/stream_group.h"

#include <cassert>
#include <utility>

namespace sluice {
namespace {

// A B-tree's element costs itself, and a tenth or so for its share of the nodes.
template <typename Element>
constexpr size_t ShareBytes() {
  return sizeof(Element) + sizeof(Element) / 8 + 1;
}

size_t TextBytes(const std::string& text) { return text.capacity() > 15 ? text.capacity() + 1 : 0; }

}  // namespace

// Around a change of what the group takes.
class StreamGroup::Accounting {
 public:
  explicit Accounting(StreamGroup& group) : group_(group) {
    *group_.bytes_of_all_ -= group_.MemoryBytes();
  }
  ~Accounting() { *group_.bytes_of_all_ += group_.MemoryBytes(); }
  Accounting(const Accounting&) = delete;

 private:
  StreamGroup& group_;
};

// --- consumers

StreamConsumer* StreamGroup::FindConsumer(std::string_view name) const {
  const auto found = consumers_.find(name);
  return found == consumers_.end() ? nullptr : found->second.get();
}

StreamConsumer& StreamGroup::AddConsumer(std::string_view name, int64_t now_ms) {
  const Accounting accounting(*this);
  auto consumer = std::make_unique<StreamConsumer>();
  consumer->name = name;
  consumer->seen_ms = now_ms;
  StreamConsumer& result = *consumer;
  const bool is_new = consumers_.emplace(std::string(name), std::move(consumer)).second;
  assert(is_new);
  static_cast<void>(is_new);
  consumer_bytes_ += sizeof(StreamConsumer) + 2 * TextBytes(result.name);
  return result;
}

void StreamGroup::RemoveConsumer(StreamConsumer& consumer) {
  const Accounting accounting(*this);
  for (const StreamId id : consumer.pending) {
    const auto found = pending_.find(id);
    if (by_time_) by_time_->erase({found->second.delivered_ms, id});
    pending_.erase(found);
  }
  consumer_bytes_ -= sizeof(StreamConsumer) + 2 * TextBytes(consumer.name);
  consumers_.erase(consumers_.find(consumer.name));
}

// --- pending entries

PendingEntry* StreamGroup::FindPending(StreamId id) {
  const auto found = pending_.find(id);
  return found == pending_.end() ? nullptr : &found->second;
}

// Takes it out of the lists that its owner and its time decide.
void StreamGroup::Unlist(StreamId id, const PendingEntry& entry) {
  if (entry.unowned()) {
    unowned_.erase(entry.delivered_ms);
    return;
  }
  entry.consumer->pending.erase(id);
  if (by_time_) by_time_->erase({entry.delivered_ms, id});
}

PendingEntry& StreamGroup::Give(StreamId id, StreamConsumer& consumer, int64_t delivered_ms,
                                int64_t deliveries) {
  const Accounting accounting(*this);
  const auto [at, is_new] = pending_.try_emplace(id);
  PendingEntry& entry = at->second;
  const bool had_it = entry.consumer == &consumer;
  if (had_it && by_time_) by_time_->erase({entry.delivered_ms, id});
  if (!is_new && !had_it) Unlist(id, entry);
  if (!had_it) consumer.pending.insert(id);
  entry = {&consumer, delivered_ms, deliveries};
  if (by_time_) by_time_->insert({delivered_ms, id});
  return entry;
}

PendingEntry& StreamGroup::Disown(StreamId id, int64_t deliveries) {
  const Accounting accounting(*this);
  const auto [at, is_new] = pending_.try_emplace(id);
  PendingEntry& entry = at->second;
  if (!is_new) Unlist(id, entry);
  entry = {nullptr, next_place_++, deliveries};
  unowned_.emplace(entry.delivered_ms, id);
  return entry;
}

bool StreamGroup::Release(StreamId id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return false;
  const Accounting accounting(*this);
  Unlist(id, found->second);
  pending_.erase(found);
  return true;
}

// --- by time

void StreamGroup::Order() {
  if (by_time_) return;
  const Accounting accounting(*this);
  by_time_ = std::make_unique<ByTime>();
  for (const auto& [id, entry] : pending_)
    if (!entry.unowned()) by_time_->insert({entry.delivered_ms, id});
}

void StreamGroup::VisitOldest(int64_t delivered_max_ms, Visit visit) const {
  assert(ordered());
  for (const auto& [place, id] : unowned_)
    if (!visit(id)) return;
  for (const auto& [delivered_ms, id] : *by_time_)
    if (delivered_ms > delivered_max_ms || !visit(id)) return;
}

std::optional<int64_t> StreamGroup::OldestDeliveredMs() const {
  assert(ordered());
  if (by_time_->empty()) return std::nullopt;
  return by_time_->begin()->first;
}

// --- as a whole

size_t StreamGroup::MemoryBytes() const {
  const size_t ordered =
      by_time_ ? sizeof(ByTime) + by_time_->size() * ShareBytes<ByTime::value_type>() : 0;
  return sizeof(*this) + consumer_bytes_ + consumers_.size() * ShareBytes<Consumers::value_type>() +
         unowned_.size() * ShareBytes<Unowned::value_type>() + ordered +
         pending_.size() * (ShareBytes<PendingEntries::value_type>() + ShareBytes<StreamId>());
}

size_t StreamGroup::FreeSome(size_t budget) {
  size_t freed = 0;
  for (; freed < budget && !pending_.empty(); ++freed) Release(pending_.begin()->first);
  return freed;
}

void StreamGroup::CopyFrom(const StreamGroup& other) {
  for (const auto& [name, consumer] : other.consumers_) AddConsumer(name, consumer->seen_ms);
  for (const auto& [id, entry] : other.pending_) {
    if (entry.unowned()) continue;
    Give(id, *FindConsumer(entry.consumer->name), entry.delivered_ms, entry.deliveries);
  }
  for (const auto& [place, id] : other.unowned_) Disown(id, other.pending_.at(id).deliveries);
}

}  // namespace sluice
