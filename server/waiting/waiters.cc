// See waiters.h.
#include "server/waiting/waiters.h"

#include <cassert>
#include <utility>

#include "absl/base/macros.h"

namespace sluice {

void Park(CommandCall& call, std::span<const std::string_view> keys, const Parking& parking) {
  if (call.may_park()) return call.part<Waiters>().Park(call, keys, parking);
  if (parking.on_timeout) return parking.on_timeout(call);
  call.reply.NullArray();
}

Waiters::Waiters(const Uses& uses, HashKeys& hash_keys)
    : on_(uses), lines_(0, KeyNameHash(hash_keys.Next())) {}

// --- parking

void Waiters::Park(CommandCall& call, std::span<const std::string_view> keys,
                   const Parking& parking) {
  Session& session = call.client;
  if (session.blocked) {
    assert(ParkedOf(session)->woken);
    ParkedOf(session)->stays = true;
    return;
  }
  assert(keys.empty() || parking.owner == nullptr);
  assert(!session.parked && session.close == CloseMode::kOpen);
  on_.timer.TimeSingly();
  Command* const command = &call.command;
  const bool asks_otherwise = !parking.again.empty();
  auto parked = std::make_unique<Wait>(*this, session.id, command,
                                       asks_otherwise ? parking.again : call.args);
  if (asks_otherwise) parked->asked = std::make_unique<QueuedCommand>(command, call.args);
  parked->arrival = ++arrivals_;
  parked->type = parking.type;
  parked->when_gone = parking.when_gone;
  parked->on_timeout = parking.on_timeout;
  parked->owner = parking.owner;
  parked->wait_id = parking.wait_id;
  for (const std::string_view key : keys) {
    KeyName name(KeyNameView{call.db.index(), key});
    Line& line = lines_[name];
    if (!line.parked.emplace(parked->arrival, parked.get()).second) continue;  // named twice
    line.when_gone += parking.when_gone;
    parked->keys.push_back(std::move(name));
    on_.flags.Raise(RareFlags::kKeys);
  }
  if (parking.deadline_ms != 0) {
    parked->fired = [](TimerTask& task) {
      const Wait& wait = static_cast<Wait&>(task);
      wait.waiters.TimeIsOver(*wait.waiters.on_.clients.Find(wait.session));
    };
    on_.timers.Arm(*parked, parking.deadline_ms);
    ++with_deadline_;
  }
  ++size_;
  session.blocked = true;
  session.parked = std::move(parked);
}

std::string Waiters::Audit() const {
  size_t standing = 0, named = 0, deadlines = 0;
  for (const auto& [name, line] : lines_) {
    if (line.parked.empty()) return "nobody waits for a key that is waited for";
    size_t when_gone = 0;
    for (const auto& [arrival, parked] : line.parked) {
      if (arrival != parked->arrival) return "a waiter stands in another's place";
      const Session* const session = on_.clients.Find(parked->session);
      if (!session || ParkedOf(*session) != parked) return "a waiter is no client's";
      when_gone += parked->when_gone;
    }
    if (when_gone != line.when_gone) return "those who wait for a key to go are miscounted";
    standing += line.parked.size();
  }
  on_.clients.ForEach([&](const Session& session) {
    if (!session.parked) return;
    named += ParkedOf(session)->keys.size();
    deadlines += ParkedOf(session)->fired != nullptr;
  });
  if (standing != named) return "a waiter stands for a key that it does not wait for";
  return deadlines == with_deadline_ ? "" : "the waiters with a deadline are miscounted";
}

void Waiters::Wrap(CommandCall& call, size_t prefix) {
  if (!call.client.blocked || call.woken) return;
  QueuedCommand& request = ParkedOf(call.client)->request;
  std::vector<std::string_view> args(call.args.begin(), call.args.begin() + prefix);
  args.insert(args.end(), request.args().begin(), request.args().end());
  request = QueuedCommand(&call.command, args);
  ParkedOf(call.client)->asked = std::make_unique<QueuedCommand>(request.command, call.args);
  ParkedOf(call.client)->ran_ns = 0;  // the time of `call` has that of the inner one in it
}

// --- the end of a wait

std::unique_ptr<Parked> Waiters::Unpark(Session& session) {
  ABSL_HARDENING_ASSERT(session.parked != nullptr);
  assert(session.blocked && size_ > 0);
  std::unique_ptr<Parked> parked(static_cast<Parked*>(session.parked.release()));
  session.blocked = false;
  if (parked->fired) --with_deadline_;
  on_.timers.Disarm(*parked);
  LeaveLines(*parked);
  --size_;
  return parked;
}

void Waiters::LeaveLines(const Parked& parked) {
  for (const KeyName& name : parked.keys) {
    const auto line = lines_.find(name);
    ABSL_HARDENING_ASSERT(line != lines_.end());
    [[maybe_unused]] const size_t left = line->second.parked.erase(parked.arrival);
    assert(left == 1);
    line->second.when_gone -= parked.when_gone;
    if (line->second.parked.empty()) lines_.erase(line);
  }
}

void Waiters::Answered(Session& session, Parked& parked) {
  const QueuedCommand& request = parked.asked ? *parked.asked : parked.request;
  on_.timer.Answered(session, *request.command, request.args(), parked.ran_ns);
  Resume(session);
}

void Waiters::Resume(Session& session) {
  on_.clients.QueueSend(session);
  on_.clients.Resume(session);
}

void Waiters::Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer) {
  if (!session.blocked) return;
  const std::unique_ptr<Parked> parked = Unpark(session);
  answer(on_.clients.SinkOf(session));
  Answered(session, *parked);
}

void Waiters::Abandon(Session& session) {
  if (!session.blocked || ParkedOf(session)->woken) return;  // Wake sees to that one
  const std::unique_ptr<Parked> parked = Unpark(session);
  if (parked->owner) parked->owner->WaitCancelled(parked->wait_id);
}

bool Waiters::Unblock(Session& session, End end) {
  if (!session.blocked || ParkedOf(session)->woken) return false;
  const Parked& parked = *ParkedOf(session);
  // As Redis counts, whichever end it is.
  ++(parked.asked ? *parked.asked : parked.request).command->statistics.failed;
  Answered(session, *EndWait(session, end));
  return true;
}

// As Redis has it, the slow log and the histogram hear nothing of it.
void Waiters::TimeIsOver(Session& session) {
  EndWait(session, End::kTimeout);
  Resume(session);
}

std::unique_ptr<Parked> Waiters::EndWait(Session& session, End end) {
  std::unique_ptr<Parked> parked = Unpark(session);
  if (parked->owner) parked->owner->WaitCancelled(parked->wait_id);
  ReplySink& reply = on_.clients.SinkOf(session);
  if (end == End::kError) {
    reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else if (!parked->on_timeout) {
    reply.NullArray();
  } else {
    CommandCall call =
        on_.dispatcher.CallOf(session, *parked->request.command, parked->request.args(), reply);
    parked->on_timeout(call);
  }
  return parked;
}

// --- keys

void Waiters::Note(const KeyName& name, Line& line) {
  if (std::exchange(line.noted, true)) return;
  ready_.push_back(name);
  on_.flags.Raise(RareFlags::kServe);
}

void Waiters::KeyTouched(int db, std::string_view key, bool) {
  const auto line = lines_.find(KeyNameView{db, key});
  if (line != lines_.end()) Note(line->first, line->second);
}

// What will be there when they are served counts.
void Waiters::DatabaseReplaced(int db, int other) {
  for (auto& [name, line] : lines_) {
    if (name.db == db || name.db == other) Note(name, line);
  }
}

void Waiters::ServeReady() {
  if (std::exchange(serving_, true)) return;
  while (!ready_.empty()) {
    for (const KeyName& name : std::exchange(ready_, {})) ServeKey(name);
  }
  serving_ = false;
}

// The line is looked up again for every waiter: a handler may end any wait and so any line.
void Waiters::ServeKey(const KeyName& name) {
  uint64_t served = 0;
  while (true) {
    const auto line = lines_.find(name);
    if (line == lines_.end()) return;
    if (served == 0) line->second.noted = false;
    const auto next = line->second.parked.upper_bound(served);
    if (next == line->second.parked.end()) return;
    served = next->first;
    Session* const session = on_.clients.Find(next->second->session);
    ABSL_HARDENING_ASSERT(session != nullptr && ParkedOf(*session) == next->second);
    if (Wants(*next->second, name)) {
      Wake(*session, name.key);
    } else if (line->second.when_gone == 0 && !Find(name)) {
      return;
    }
  }
}

const Entry* Waiters::Find(const KeyName& name) const {
  return on_.keyspace.db(name.db).Find(on_.keyspace.Hash(name.key), on_.clock.now());
}

bool Waiters::Wants(const Parked& parked, const KeyName& name) {
  const Entry* const entry = Find(name);
  return parked.when_gone || (entry && entry->type() == parked.type);
}

// As if it came now, in the middle of another's turn.
void Waiters::Rerun(Session& session, const QueuedCommand& request) {
  {
    const Acting::As waiter(on_.acting, session);
    on_.dispatcher.Run(session, *request.command, request.args(), on_.clients.SinkOf(session));
  }
  if (on_.flags.Raised(RareFlags::kPending)) [[unlikely]]
    on_.tracking.CommandDone(session);
}

void Waiters::Wake(Session& session, std::string_view key) {
  Parked& parked = *ParkedOf(session);
  parked.woken = true;
  parked.woken_key = key;
  parked.stays = false;
  on_.timer.Skip();
  on_.timer.TimeSingly();
  Rerun(session, parked.request);
  parked.woken = false;
  if (parked.stays && session.close == CloseMode::kOpen) return;
  const std::unique_ptr<Parked> done = Unpark(session);
  Answered(session, *done);
}

}  // namespace sluice
