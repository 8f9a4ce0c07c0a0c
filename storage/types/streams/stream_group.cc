// See stream_group.h.
#include "storage/types/streams/stream_group.h"

#include <cassert>

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
  for (const StreamId id : consumer.pending) pending_.erase(id);
  consumer_bytes_ -= sizeof(StreamConsumer) + 2 * TextBytes(consumer.name);
  consumers_.erase(consumers_.find(consumer.name));
}

// --- pending entries

PendingEntry* StreamGroup::FindPending(StreamId id) {
  const auto found = pending_.find(id);
  return found == pending_.end() ? nullptr : &found->second;
}

PendingEntry& StreamGroup::Give(StreamId id, StreamConsumer& consumer) {
  const Accounting accounting(*this);
  PendingEntry& entry = pending_[id];
  if (entry.consumer != &consumer) {
    if (entry.consumer != nullptr) entry.consumer->pending.erase(id);
    entry.consumer = &consumer;
    consumer.pending.insert(id);
  }
  return entry;
}

bool StreamGroup::Release(StreamId id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return false;
  const Accounting accounting(*this);
  found->second.consumer->pending.erase(id);
  pending_.erase(found);
  return true;
}

size_t StreamGroup::MemoryBytes() const {
  return sizeof(*this) + consumer_bytes_ + consumers_.size() * ShareBytes<Consumers::value_type>() +
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
    PendingEntry& given = Give(id, *FindConsumer(entry.consumer->name));
    given.delivered_ms = entry.delivered_ms;
    given.deliveries = entry.deliveries;
  }
}

}  // namespace sluice
