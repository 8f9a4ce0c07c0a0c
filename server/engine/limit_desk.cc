// See limit_desk.h.
#include "server/engine/limit_desk.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/base/macros.h"
#include "server/engine/engine.h"
#include "server/engine/tracking.h"

namespace sluice {
namespace {

// Answers to waiters of one key in one turn: some 100 µs.
constexpr int kServedPerTurn = 256;
// Queues whose heads are tried in one call, and waiters of a changed policy that are looked at:
// some 100 µs each.
constexpr size_t kQueuesPerCall = 64;
constexpr size_t kTicketsPerCall = 512;

}  // namespace

LimitDesk::LimitDesk(Engine& engine)
    : engine_(engine), queues_(0, KeyNameHash(engine.hash_keys().Next())) {}

void LimitDesk::Join(CommandCall& call, KeyNameView key, Ticket ticket, int64_t deadline_ms,
                     int64_t retry_ms, Handler on_timeout) {
  std::unique_ptr<Queue>& queue = queues_[KeyName(key)];
  if (!queue) {
    queue = std::make_unique<Queue>();
    queue->key = KeyName(key);
    queue->fired = [](Engine& engine, Timed& timed) {
      engine.limits().Serve(static_cast<Queue&>(timed));
    };
    ArmFor(*queue, retry_ms);
  }
  const uint64_t number = ++tickets_;
  if (!ticket.policy.empty()) tickets_of_policy_[ticket.policy].insert(number);
  queue->tickets.emplace(number, std::move(ticket));
  ++statistics_.waited;
  queue_of_[number] = queue.get();
  engine_.attention().Raise(Attention::kKeys);
  call.Park(
      {}, {.deadline_ms = deadline_ms, .on_timeout = on_timeout, .owner = this, .wait_id = number});
}

void LimitDesk::ArmFor(Queue& queue, int64_t retry_ms) {
  if (retry_ms < 0) return engine_.Disarm(queue);
  const int64_t now_ms = engine_.now().ms();
  engine_.Arm(queue, retry_ms > TimerWheel::kDeadlineMsMax - now_ms ? TimerWheel::kDeadlineMsMax
                                                                    : now_ms + retry_ms);
}

void LimitDesk::Serve(Queue& queue) {
  serving_ = &queue;
  std::optional<int64_t> retry_ms;
  for (int served = 0; !retry_ms && !queue.tickets.empty(); ++served) {
    if (served == kServedPerTurn) break;
    const auto head = queue.tickets.begin();
    Session& waiter = *engine_.Find(head->second.session);
    {
      const Engine::ActingFor acting(engine_, waiter);
      retry_ms = head->second.try_again(engine_, queue.key, head->second);
    }
    if (engine_.attention().Raised(Attention::kPending)) engine_.tracking().CommandDone(waiter);
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

void LimitDesk::Forget(Queue& queue) {
  const auto place = queues_.find(queue.key);
  ABSL_HARDENING_ASSERT(place != queues_.end() && place->second.get() == &queue);
  assert(queue.tickets.empty() && serving_ != &queue);
  engine_.Disarm(queue);
  queues_.erase(place);
}

void LimitDesk::WaitCancelled(uint64_t wait_id) {
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

void LimitDesk::KeyTouched(int db, std::string_view key) {
  const auto found = queues_.find(KeyNameView{db, key});
  if (found != queues_.end() && found->second.get() != serving_) Note(*found->second);
}

void LimitDesk::DatabaseReplaced(int db, int other) {
  for (const auto& [name, queue] : queues_)
    if (name.db == db || name.db == other) Note(*queue);
}

void LimitDesk::Note(Queue& queue) {
  if (queue.noted) return;
  queue.noted = true;
  ready_.push_back(queue.key);
  engine_.attention().Raise(Attention::kServe);
}

void LimitDesk::ServeReady() {
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

void LimitDesk::PolicyChanged(std::string_view name) {
  if (!tickets_of_policy_.contains(name)) return;
  std::erase_if(changed_policies_, [name](const ChangedPolicy& each) { return each.name == name; });
  changed_policies_.push_back({std::string(name), 0});
  engine_.attention().Raise(Attention::kServe);
}

// The next slice of the waiters of changed policies: notes the queues that they head.
void LimitDesk::NoteOfPolicy() {
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

void LimitDesk::LeavePolicy(uint64_t number, const Ticket& ticket) {
  if (ticket.policy.empty()) return;
  const auto tickets = tickets_of_policy_.find(ticket.policy);
  tickets->second.erase(number);
  if (tickets->second.empty()) tickets_of_policy_.erase(tickets);
}

}  // namespace sluice
