// See waiters.h.
#include "server/engine/waiters.h"

#include <cassert>
#include <utility>

#include "absl/base/macros.h"
#include "server/engine/engine.h"

namespace sluice {

bool CommandCall::may_park() const {
  return !client.executing && !(client.conditions & (kInMulti | kInScript));
}

bool CommandCall::may_wait() const { return may_park() && !(client.conditions & kInFenced); }

void CommandCall::Park(std::span<const std::string_view> keys, const Parking& parking) {
  if (may_park()) return engine.waiters().Park(*this, keys, parking);
  if (parking.on_timeout) return parking.on_timeout(*this);
  reply.NullArray();
}

Waiters::Waiters(Engine& engine)
    : engine_(engine), lines_(0, KeyNameHash(engine.hash_keys().Next())) {}

// --- parking

void Waiters::Park(CommandCall& call, std::span<const std::string_view> keys,
                   const Parking& parking) {
  Session& session = call.client;
  if (session.blocked) {
    assert(session.parked->woken);
    session.parked->stays = true;
    return;
  }
  assert(keys.empty() || parking.owner == nullptr);
  assert(!session.parked && session.close == CloseMode::kOpen);
  engine_.command_timer().TimeSingly();
  std::string error;
  Command* const command = engine_.dispatcher().Resolve(call.args, nullptr, error);
  const bool asks_otherwise = !parking.again.empty();
  auto parked =
      std::make_unique<Parked>(session.id, command, asks_otherwise ? parking.again : call.args);
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
    engine_.attention().Raise(Attention::kKeys);
  }
  if (parking.deadline_ms != 0) {
    parked->fired = [](Engine& engine, Timed& timed) {
      engine.waiters().TimeIsOver(*engine.Find(static_cast<Parked&>(timed).session));
    };
    engine_.Arm(*parked, parking.deadline_ms);
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
      const Session* const session = engine_.Find(parked->session);
      if (!session || session->parked.get() != parked) return "a waiter is no client's";
      when_gone += parked->when_gone;
    }
    if (when_gone != line.when_gone) return "those who wait for a key to go are miscounted";
    standing += line.parked.size();
  }
  engine_.ForEachSession([&](const Session& session) {
    if (!session.parked) return;
    named += session.parked->keys.size();
    deadlines += session.parked->fired != nullptr;
  });
  if (standing != named) return "a waiter stands for a key that it does not wait for";
  return deadlines == with_deadline_ ? "" : "the waiters with a deadline are miscounted";
}

void Waiters::Wrap(CommandCall& call, size_t prefix) {
  if (!call.client.blocked || call.woken) return;
  QueuedCommand& request = call.client.parked->request;
  std::vector<std::string_view> args(call.args.begin(), call.args.begin() + prefix);
  args.insert(args.end(), request.args().begin(), request.args().end());
  std::string error;
  request = QueuedCommand(engine_.dispatcher().Resolve(args, nullptr, error), args);
  call.client.parked->asked = std::make_unique<QueuedCommand>(request.command, call.args);
  call.client.parked->ran_ns = 0;  // the time of `call` has that of the inner one in it
}

// --- the end of a wait

std::unique_ptr<Parked> Waiters::Unpark(Session& session) {
  ABSL_HARDENING_ASSERT(session.parked != nullptr);
  assert(session.blocked && size_ > 0);
  std::unique_ptr<Parked> parked = std::move(session.parked);
  session.blocked = false;
  if (parked->fired) --with_deadline_;
  engine_.Disarm(*parked);
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
  engine_.command_timer().Answered(session, *request.command, request.args(), parked.ran_ns);
  Resume(session);
}

void Waiters::Resume(Session& session) {
  engine_.QueueSend(session);
  engine_.Resume(session);
}

void Waiters::Finish(Session& session, absl::FunctionRef<void(ReplySink&)> answer) {
  if (!session.blocked) return;
  const std::unique_ptr<Parked> parked = Unpark(session);
  answer(engine_.SinkOf(session));
  Answered(session, *parked);
}

void Waiters::Abandon(Session& session) {
  if (!session.blocked || session.parked->woken) return;  // Wake sees to that one
  const std::unique_ptr<Parked> parked = Unpark(session);
  if (parked->owner) parked->owner->WaitCancelled(parked->wait_id);
}

bool Waiters::Unblock(Session& session, End end) {
  if (!session.blocked || session.parked->woken) return false;
  const Parked& parked = *session.parked;
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
  ReplySink& reply = engine_.SinkOf(session);
  if (end == End::kError) {
    reply.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else if (!parked->on_timeout) {
    reply.NullArray();
  } else {
    const Command& command = *parked->request.command;
    CommandCall call{parked->request.args(),
                     reply,
                     *command.spec,
                     session,
                     engine_,
                     engine_.keyspace(),
                     engine_.keyspace().db(session.db),
                     engine_.effects(),
                     engine_.notifications(),
                     engine_.now(),
                     HashedKey{}};
    parked->on_timeout(call);
  }
  return parked;
}

// --- keys

void Waiters::Note(const KeyName& name, Line& line) {
  if (std::exchange(line.noted, true)) return;
  ready_.push_back(name);
  engine_.attention().Raise(Attention::kServe);
}

void Waiters::KeyTouched(int db, std::string_view key) {
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
    Session* const session = engine_.Find(next->second->session);
    ABSL_HARDENING_ASSERT(session != nullptr && session->parked.get() == next->second);
    if (Wants(*next->second, name)) {
      Wake(*session, name.key);
    } else if (line->second.when_gone == 0 &&
               !engine_.keyspace().db(name.db).Find(engine_.keyspace().Hash(name.key),
                                                    engine_.now())) {
      return;
    }
  }
}

bool Waiters::Wants(const Parked& parked, const KeyName& name) {
  Keyspace& keyspace = engine_.keyspace();
  const Entry* const entry = keyspace.db(name.db).Find(keyspace.Hash(name.key), engine_.now());
  return parked.when_gone || (entry && entry->type() == parked.type);
}

void Waiters::Wake(Session& session, std::string_view key) {
  Parked& parked = *session.parked;
  parked.woken = true;
  parked.woken_key = key;
  parked.stays = false;
  engine_.command_timer().Skip();
  engine_.command_timer().TimeSingly();
  engine_.ExecuteWoken(session, *parked.request.command, parked.request.args());
  parked.woken = false;
  if (parked.stays && session.close == CloseMode::kOpen) return;
  const std::unique_ptr<Parked> done = Unpark(session);
  Answered(session, *done);
}

}  // namespace sluice
