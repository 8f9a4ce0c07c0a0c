// See limit_desk.h.
#include "server/waiting/limit_waiters.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {
namespace {

// Answers to waiters of one key in one turn: some 100 µs.
constexpr int kServedPerTurn = 256;
// Queues whose heads are tried in one call, and waiters of a changed policy that are looked at:
// some 100 µs each.
constexpr size_t kQueuesPerCall = 64;
constexpr size_t kTicketsPerCall = 512;

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
      due.waiters.Serve(due);
    };
    ArmFor(*queue, retry_ms);
  }
  const uint64_t number = ++tickets_;
  if (!ticket.policy.empty()) tickets_of_policy_[ticket.policy].insert(number);
  queue->tickets.emplace(number, std::move(ticket));
  ++statistics_.waited;
  queue_of_[number] = queue.get();
  on_.flags.Raise(RareFlags::kKeys);
  Park(call, {},
       {.deadline_ms = deadline_ms, .on_timeout = on_timeout, .owner = this, .wait_id = number});
}

void LimitWaiters::ArmFor(Queue& queue, int64_t retry_ms) {
  if (retry_ms < 0) return on_.timers.Disarm(queue);
  const int64_t now_ms = on_.clock.now().ms();
  on_.timers.Arm(queue, retry_ms > TimerWheel::kDeadlineMsMax - now_ms ? TimerWheel::kDeadlineMsMax
                                                                       : now_ms + retry_ms);
}

void LimitWaiters::Serve(Queue& queue) {
  serving_ = &queue;
  std::optional<int64_t> retry_ms;
  for (int served = 0; !retry_ms && !queue.tickets.empty(); ++served) {
    if (served == kServedPerTurn) break;
    const auto head = queue.tickets.begin();
    Session& waiter = *on_.clients.Find(head->second.session);
    {
      const Acting::As acting(on_.acting, waiter);
      retry_ms = head->second.try_again(on_.parts, queue.key, head->second);
    }
    if (on_.flags.Raised(RareFlags::kPending)) on_.tracking.CommandDone(waiter);
    if (retry_ms) break;
    queue_of_.erase(head->first);
    LeavePolicy(head->first, head->second);
    queue.tickets.erase(head);
  }
  serving_ = nullptr;
  if (queue.tickets.empty()) return Forget(queue);
  if (!retry_ms) return Note(queue);  // the rest in the next turn
  ArmFor(queue, *retry_ms);
}

void LimitWaiters::Forget(Queue& queue) {
  const auto place = queues_.find(queue.key);
  ABSL_HARDENING_ASSERT(place != queues_.end() && place->second.get() == &queue);
  assert(queue.tickets.empty() && serving_ != &queue);
  on_.timers.Disarm(queue);
  queues_.erase(place);
}

void LimitWaiters::WaitCancelled(uint64_t wait_id) {
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
  if (was_head) Note(queue);  // the next one may want less
}

// --- touched keys

void LimitWaiters::KeyTouched(int db, std::string_view key, bool) {
  const auto found = queues_.find(KeyNameView{db, key});
  if (found != queues_.end() && found->second.get() != serving_) Note(*found->second);
}

void LimitWaiters::DatabaseReplaced(int db, int other) {
  for (const auto& [name, queue] : queues_)
    if (name.db == db || name.db == other) Note(*queue);
}

void LimitWaiters::Note(Queue& queue) {
  if (queue.noted) return;
  queue.noted = true;
  ready_.push_back(queue.key);
  on_.flags.Raise(RareFlags::kServe);
}

void LimitWaiters::ServeReady() {
  NoteOfPolicy();
  for (size_t left = std::min(ready_.size(), kQueuesPerCall); left > 0; --left) {
    const auto found = queues_.find(ready_.front());
    ready_.pop_front();
    if (found == queues_.end()) continue;
    found->second->noted = false;
    Serve(*found->second);
  }
}

// --- policies

void LimitWaiters::PolicyChanged(std::string_view name) {
  if (!tickets_of_policy_.contains(name)) return;
  std::erase_if(changed_policies_, [name](const ChangedPolicy& each) { return each.name == name; });
  changed_policies_.push_back({std::string(name), 0});
  on_.flags.Raise(RareFlags::kServe);
}

// The next slice of the waiters of changed policies: notes the queues that they head.
void LimitWaiters::NoteOfPolicy() {
  size_t left = kTicketsPerCall;
  while (left > 0 && !changed_policies_.empty()) {
    ChangedPolicy& changed = changed_policies_.front();
    const auto tickets = tickets_of_policy_.find(changed.name);
    if (tickets == tickets_of_policy_.end()) {
      changed_policies_.pop_front();
      continue;
    }
    auto ticket = tickets->second.lower_bound(changed.next_ticket);
    for (; left > 0 && ticket != tickets->second.end(); --left, ++ticket) {
      Queue& queue = *queue_of_.at(*ticket);
      if (queue.tickets.begin()->first == *ticket) Note(queue);
    }
    if (ticket != tickets->second.end()) {
      changed.next_ticket = *ticket;
    } else {
      changed_policies_.pop_front();
    }
  }
}

void LimitWaiters::LeavePolicy(uint64_t number, const Ticket& ticket) {
  if (ticket.policy.empty()) return;
  const auto tickets = tickets_of_policy_.find(ticket.policy);
  tickets->second.erase(number);
  if (tickets->second.empty()) tickets_of_policy_.erase(tickets);
}

}  // namespace sluice
