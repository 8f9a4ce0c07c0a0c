// See limit_waiters.h. Only the head of a queue is ever tried, so waiters are served in their order
// even when one behind would fit. A change that concerns many (a policy, a flushed database) is
// noted as a range of ticket numbers and looked at in slices; a waiter that came after it needs no
// look, for it has been tried with it.
#include "server/limits/limit_waiters.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/macros.h"
#include "server/clients/current_client.h"
#include "server/notify/tracking.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {

namespace {

// Waiters that are tried in one turn, be they answered or not: some 200 µs.
constexpr int kTriesPerTurn = 256;
// Waiters that are looked at for a changed policy or a flushed database: some 50 µs.
constexpr size_t kLooksPerTurn = 512;

}  // namespace

LimitWaiters::LimitWaiters(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), queues_(0, KeyNameHash(hash_keys.Next())) {}

void LimitWaiters::Join(CommandCall& call, KeyNameView key, Ticket ticket, int64_t deadline_ms,
                        int64_t retry_ms, Handler on_timeout) {
  std::unique_ptr<Queue>& queue = queues_[KeyName(key)];
  if (!queue) {
    queue = std::make_unique<Queue>(*this);
    queue->key = KeyName(key);
    queue->fired = [](TimerTask& task) {
      Queue& due = static_cast<Queue&>(task);
      due.waiters.TimerFired(due);
    };
    ArmFor(*queue, retry_ms);
  }
  const uint64_t number = ++tickets_;
  if (!ticket.policy.empty()) tickets_of_policy_[ticket.policy].insert(number);
  const Ticket& joined = queue->tickets.emplace(number, std::move(ticket)).first->second;
  ++on_.limits.statistics().waited;
  queue_of_[number] = queue.get();
  on_.flags.Raise(SlowPathFlags::kKeys);
  on_.blocked_clients.Block(
      call,
      {.deadline_ms = deadline_ms, .on_timeout = on_timeout, .owner = this, .wait_id = number});
  ChargeWaiter(joined);
  if (queue->tickets.size() == 1) ChargeQueue(*queue);
}

void LimitWaiters::ChargeWaiter(const Ticket& ticket) {
  // Its places among all tickets, and among those of its policy, whose name they share.
  constexpr size_t kTicket =
      TreeNodeBytes<decltype(Queue::tickets)>() + sizeof(decltype(queue_of_)::value_type) * 4 / 3;
  constexpr size_t kOfPolicy = TreeNodeBytes<std::set<uint64_t>>();
  BlockedCallOf(*on_.clients.Find(ticket.session))->kept_bytes +=
      kTicket + (ticket.policy.empty() ? 0 : kOfPolicy + HeapBytes(ticket.policy));
}

void LimitWaiters::ChargeQueue(const Queue& queue) {
  constexpr size_t kQueue =
      BlockSize(sizeof(Queue)) + RoomOfTables(sizeof(decltype(queues_)::value_type));
  const Session* const first = on_.clients.Find(queue.tickets.begin()->second.session);
  BlockedCallOf(*first)->kept_bytes += kQueue + 2 * HeapBytes(queue.key.key);
}

// -1 means that no time alone will do: the queue waits for a change of the key or of the policy.
void LimitWaiters::ArmFor(Queue& queue, int64_t retry_ms) {
  if (retry_ms < 0) return on_.timers.Disarm(queue);
  const int64_t now_ms = on_.clock.now().ms();
  on_.timers.Arm(queue, retry_ms > TimerWheel::kDeadlineMsMax - now_ms ? TimerWheel::kDeadlineMsMax
                                                                       : now_ms + retry_ms);
}

// The budget is the turn's, for timers, touched keys and changes together.
void LimitWaiters::BeginTurn() {
  tries_left_ = kTriesPerTurn;
  looks_left_ = kLooksPerTurn;
}

// Within the turn's budget at once, else noted for the next turn, or for the end of a standstill.
void LimitWaiters::TimerFired(Queue& queue) {
  tries_left_ > 0 && !on_.standstill.is_on() ? Serve(queue) : Note(queue);
}

// try_again answers the client itself. While it runs, `serving_` keeps the touch that it causes
// from noting the queue again.
void LimitWaiters::Serve(Queue& queue) {
  serving_ = &queue;
  std::optional<int64_t> retry_ms;
  while (tries_left_ > 0 && !queue.tickets.empty()) {
    --tries_left_;
    const auto head = queue.tickets.begin();
    Session& waiter = *on_.clients.Find(head->second.session);
    {
      const CurrentClient::As current(on_.current_client, waiter);
      retry_ms = head->second.try_again(on_.parts, queue.key, head->second);
    }
    if (on_.flags.Raised(SlowPathFlags::kPending)) on_.tracking.CommandDone(waiter);
    if (retry_ms) break;
    queue_of_.erase(head->first);
    LeavePolicy(head->first, head->second);
    queue.tickets.erase(head);
    if (!queue.tickets.empty()) ChargeQueue(queue);
  }
  serving_ = nullptr;
  if (queue.tickets.empty()) return Forget(queue);
  if (!retry_ms) return Note(queue);  // the rest in the next turn
  ArmFor(queue, *retry_ms);
}

// Requires: it has no tickets, and is not being served.
void LimitWaiters::Forget(Queue& queue) {
  const auto place = queues_.find(queue.key);
  ABSL_HARDENING_ASSERT(place != queues_.end() && place->second.get() == &queue);
  assert(queue.tickets.empty() && serving_ != &queue);
  on_.timers.Disarm(queue);
  queues_.erase(place);
}

// O(log waiters). A head that leaves may have held up one that fits.
void LimitWaiters::WaitCancelled(uint64_t wait_id, WaitEnd) {
  const auto found = queue_of_.find(wait_id);
  if (found == queue_of_.end()) return;
  Queue& queue = *found->second;
  const auto ticket = queue.tickets.find(wait_id);
  ABSL_HARDENING_ASSERT(ticket != queue.tickets.end());
  const bool was_head = ticket == queue.tickets.begin();
  LeavePolicy(wait_id, ticket->second);
  queue.tickets.erase(ticket);
  queue_of_.erase(found);
  if (queue.tickets.empty()) return Forget(queue);
  if (!was_head) return;
  ChargeQueue(queue);
  Note(queue);  // the next one may want less
}

// --- touched keys

// A take of the served waiter itself does not count as a touch.
void LimitWaiters::KeyTouched(int db, std::string_view key, bool) {
  const auto found = queues_.find(KeyNameView{db, key});
  if (found != queues_.end() && found->second.get() != serving_) Note(*found->second);
}

template <typename Which>
void LimitWaiters::DropChanges(Which which) {
  changes_.EraseIf(which);
}

// Noted as one change, whatever the number of waiters; a repetition replaces the earlier note.
void LimitWaiters::DatabaseReplaced(int db, int other) {
  DropChanges([db, other](const Change& each) {
    return each.policy.empty() && each.db == db && each.other == other;
  });
  changes_.push_back({.db = db, .other = other, .last = tickets_});
  on_.flags.Raise(SlowPathFlags::kServe);
}

// Once, until it is served.
void LimitWaiters::Note(Queue& queue) {
  if (queue.noted) return;
  queue.noted = true;
  ready_.push_back(queue.key);
  on_.flags.Raise(SlowPathFlags::kServe);
}

void LimitWaiters::ServeReady() {
  if (on_.standstill.is_on()) [[unlikely]]
    return;
  NoteOfChanges();
  // Queues that are noted while this runs wait for the next call, so one call ends.
  for (size_t left = ready_.size(); left > 0 && tries_left_ > 0; --left) {
    const auto found = queues_.find(ready_.front());
    ready_.pop_front();
    if (found == queues_.end()) continue;
    found->second->noted = false;
    Serve(*found->second);
  }
}

// --- what changes for many

void LimitWaiters::PolicyChanged(std::string_view name) {
  if (!tickets_of_policy_.contains(name)) return;
  DropChanges([name](const Change& each) { return each.policy == name; });
  changes_.push_back({.policy = std::string(name), .last = tickets_});
  on_.flags.Raise(SlowPathFlags::kServe);
}

// The next slice of the waiters that changes concern: notes the queues that they head. A waiter
// that came after a change has been tried with it.
void LimitWaiters::NoteOfChanges() {
  while (!changes_.empty() && NoteSome(changes_.front())) changes_.pop_front();
}

// True when all have been looked at.
bool LimitWaiters::NoteSome(Change& change) {
  if (change.policy.empty()) {
    auto ticket = queue_of_.lower_bound(change.next);
    for (; ticket != queue_of_.end() && ticket->first <= change.last; ++ticket) {
      change.next = ticket->first;
      if (looks_left_ == 0) return false;
      --looks_left_;
      const int db = ticket->second->key.db;
      if (db == change.db || db == change.other) NoteHead(ticket->first, *ticket->second);
    }
    return true;
  }
  const auto tickets = tickets_of_policy_.find(change.policy);
  if (tickets == tickets_of_policy_.end()) return true;
  auto ticket = tickets->second.lower_bound(change.next);
  for (; ticket != tickets->second.end() && *ticket <= change.last; ++ticket) {
    change.next = *ticket;
    if (looks_left_ == 0) return false;
    --looks_left_;
    NoteHead(*ticket, *queue_of_.at(*ticket));
  }
  return true;
}

// No waiter behind the head is tried.
void LimitWaiters::NoteHead(uint64_t ticket, Queue& queue) {
  if (queue.tickets.begin()->first == ticket) Note(queue);
}

// O(log waiters of the policy).
void LimitWaiters::LeavePolicy(uint64_t number, const Ticket& ticket) {
  if (ticket.policy.empty()) return;
  const auto tickets = tickets_of_policy_.find(ticket.policy);
  tickets->second.erase(number);
  if (tickets->second.empty()) tickets_of_policy_.erase(tickets);
}

}  // namespace sluice
