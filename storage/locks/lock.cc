// See lock.h. A lock of up to kScanned holders is looked through; one holder more makes the index,
// which stays. A function that changes a holder's owner, end, bindings or MINHOLD takes it out of
// the index first and puts it back after (Unlist, List), for these are its keys in there.
#include "storage/locks/lock.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {

// --- ties
// Watched or not, a lock works alike. Watch tells the watcher of all holders at once, Tie and Untie
// of each that comes and goes; a lock of many holders is watched always, so that Watch never has
// many to tell of in one step.

void Lock::Watch() const {
  if (ties() == nullptr || std::exchange(watched_, true)) return;
  for (const LockHolder& holder : holders_)
    if (!holder.is_minimum_hold()) ties()->watcher.Held(*this, holder.owner);
}

void Lock::Unwatch() const {
  if (!std::exchange(watched_, false)) return;
  for (const LockHolder& holder : holders_)
    if (!holder.is_minimum_hold()) ties()->watcher.Freed(*this, holder.owner);
}

void Lock::WatchIfMany() {
  if (has_many()) Watch();
}

void Lock::Bind(int64_t token, uint64_t session) {
  if (session == 0) return;
  LockHolder& holder = *holders_.Find(token);
  LockClients& sessions = holder.extra.Make().sessions;
  if (std::find(sessions.begin(), sessions.end(), session) != sessions.end()) return;
  sessions.push_back(session);
  if (ties() == nullptr) return;
  SessionBond& bond = holders_.AddBond(holder);
  bond.lock = this;
  bond.token = token;
  ties()->sessions.Add(session, bond);
}

void Lock::Tie(const LockHolder& holder) {
  if (watched_) ties()->watcher.Held(*this, holder.owner);
}

void Lock::Untie(LockHolder& holder) {
  if (watched_) ties()->watcher.Freed(*this, holder.owner);
  holders_.DropBonds(holder);
}

// --- who may have it

// In this order: a lock without holders suits all; its own holder is re-entrant or in the wrong
// mode; a stranger needs permits, or that both read.
LockFit Lock::Fit(std::string_view owner, const LockShape& shape) const {
  if (empty()) return LockFit::kFits;
  const bool semaphore = mode_ == LockMode::kPermits && shape.mode == LockMode::kPermits;
  if (const LockHolder* holder = FindOwner(owner)) {
    const bool same =
        mode_ == shape.mode &&
        (!semaphore || (permits_of() == shape.of && holder->permits() == shape.permits));
    return same ? LockFit::kReentrant : LockFit::kLockMode;
  }
  if (semaphore) {
    if (permits_of() != shape.of) return LockFit::kOtherPermits;
    if (is_in_doubt()) return LockFit::kBusy;
    return shape.permits <= permits_of() - permits_used() ? LockFit::kFits : LockFit::kBusy;
  }
  const bool both_shared = mode_ == LockMode::kShared && shape.mode == LockMode::kShared;
  return both_shared && !is_in_doubt() ? LockFit::kFits : LockFit::kBusy;
}

void Lock::BeginAnew() {
  assert(holders_.empty() && !ended_);
  Unwatch();
  in_doubt_ = false;
  mode_ = LockMode::kExclusive;
  holders_.Clear();
}

const LockHolder& Lock::Grant(std::string_view owner, const LockTerms& terms, int64_t token,
                              const Now& now) {
  assert(Fit(owner, terms.shape) == LockFit::kFits && token > newest_token());
  assert(terms.lease_ms > 0 || terms.session != 0);
  SetShape(terms.shape);  // the first holder's: Fit has seen to it that later ones agree
  LockHolder granted{.owner = BoxedText(owner), .token = token, .since_ms = now.ms()};
  if (mode_ == LockMode::kPermits) granted.set_permits(terms.shape.permits);
  if (terms.minhold_ms > 0) granted.set_minhold_until_ms(NextMs(now) + terms.minhold_ms);
  if (terms.notify != 0) granted.extra.Make().notify.push_back(terms.notify);
  if (terms.label) granted.set_label(*terms.label);
  if (terms.lease_ms > 0) granted.lease_until_ms = NextMs(now) + terms.lease_ms;
  granted.lease_ms = terms.lease_ms;
  holders_.Put(std::move(granted));
  Bind(token, terms.session);
  const LockHolder& holder = *holders_.Find(token);
  Tie(holder);
  List(holder);
  if (holders_.size() > kScanned) MakeIndex();
  WatchIfMany();
  return holder;
}

// A plain lock has one permit without a book.
void Lock::SetShape(const LockShape& shape) {
  mode_ = shape.mode;
  if (shape.of != permits_of()) holders_.MakeBook().of = shape.of;
}

const LockHolder& Lock::Reenter(std::string_view owner, const LockTerms& terms, const Now& now) {
  assert(Fit(owner, terms.shape) == LockFit::kReentrant);
  const int64_t token = FindHeld(owner, 0)->token;
  Unlist(*holders_.Find(token));
  const LockClients& sessions = holders_.Find(token)->sessions();
  const bool is_back =
      std::find(sessions.begin(), sessions.end(), kSessionElsewhere) != sessions.end();
  Bind(token, terms.session);
  LockHolder& holder = *holders_.Find(token);
  if (is_back) {
    // After a restart the owner of a session's lock is back: what it asks for is what it holds.
    DropSession(holder, kSessionElsewhere);
  } else if (!terms.again) {
    holder.holds = std::min(holder.holds + 1, kHoldsMax);
  }
  const bool leased = holder.has_lease();
  const int64_t until_ms = NextMs(now) + terms.lease_ms;
  if (terms.lease_ms > 0 && (!leased || holder.lease_until_ms < until_ms)) {
    holder.lease_until_ms = until_ms;
    holder.lease_ms = terms.lease_ms;
  }
  if (terms.minhold_ms > 0) {
    const int64_t kept_until_ms = NextMs(now) + terms.minhold_ms;
    holder.set_minhold_until_ms(std::max(holder.minhold_until_ms(), kept_until_ms));
  }
  if (terms.label) holder.set_label(*terms.label);
  if (terms.notify != 0) {
    LockClients& notify = holder.extra.Make().notify;
    if (std::find(notify.begin(), notify.end(), terms.notify) == notify.end())
      notify.push_back(terms.notify);
  }
  List(holder);
  return holder;
}

void Lock::SweepNotified(std::string_view owner, absl::FunctionRef<bool(uint64_t)> is_connected) {
  LockHolder* holder = FindHeld(owner, 0);
  if (holder == nullptr || holder->notify().empty()) return;
  LockClients& notify = holder->extra.Make().notify;
  notify.erase(std::remove_if(notify.begin(), notify.end(),
                              [&](uint64_t connection) { return !is_connected(connection); }),
               notify.end());
}

bool Lock::IsHeldBy(std::string_view owner, int64_t token) const {
  const LockHolder* holder = FindOwner(owner);
  return holder != nullptr && (token == 0 || holder->token == token);
}

const LockHolder* Lock::Renew(std::string_view owner, int64_t lease_ms, int64_t token,
                              const Now& now) {
  assert(lease_ms > 0 && lease_ms <= kLeaseMsMax);
  LockHolder* holder = FindHeld(owner, token);
  if (holder == nullptr) return nullptr;
  SetEnd(*holder, NextMs(now) + lease_ms);
  holder->lease_ms = lease_ms;
  return holder;
}

int64_t Lock::Release(std::string_view owner, bool all, int64_t token, const Now& now,
                      OnEnd on_end) {
  LockHolder* holder = FindHeld(owner, token);
  if (holder == nullptr) return -1;
  if (!all && holder->holds > 1) return holder->holds = holder->holds - 1;
  End(*holder, true, now, on_end);
  return 0;
}

bool Lock::GoesWith(const LockHolder& restored, const LockShape& shape) const {
  const LockHolder* const place = holders_.Find(restored.token);
  const bool alone = holders_.size() == (place == nullptr ? 0 : 1);
  const int64_t used = permits_used() - (place == nullptr ? 0 : place->permits());
  const LockHolder* const same = restored.is_minimum_hold() ? nullptr : FindOwner(restored.owner);
  if (same != nullptr && same->token != restored.token) return false;
  if (!alone && (mode_ != shape.mode || mode_ == LockMode::kExclusive || permits_of() != shape.of))
    return false;
  return shape.mode != LockMode::kPermits || used + restored.permits() <= shape.of;
}

bool Lock::Restore(const LockHolder& restored, const LockShape& shape) {
  assert(!restored.sessions().empty() || restored.EndsAtMs() != kNoDeadline);
  if (!GoesWith(restored, shape)) return false;
  if (LockHolder* const place = holders_.Find(restored.token)) TakeOut(*place);
  in_doubt_ |= !restored.proved || shape.mode == LockMode::kPermits;
  SetShape(shape);
  Place(restored);
  if (holders_.size() > kScanned) MakeIndex();
  WatchIfMany();
  return true;
}

// Which of the holders of permits has given them back cannot be told, so none is thrown out.
Lock::InTheWay Lock::FindInTheWay(const LockHolder& claimed, const LockShape& shape) const {
  using Kind = InTheWay::Kind;
  if (empty()) return {};
  const bool beside =
      mode_ == shape.mode && permits_of() == shape.of && shape.mode != LockMode::kExclusive;
  if (!beside) return {holders_.newest().token > claimed.token ? Kind::kBeside : Kind::kAll};
  const LockHolder* const same = FindOwner(claimed.owner);
  const int64_t freed = same == nullptr ? 0 : same->permits();
  const bool semaphore = shape.mode == LockMode::kPermits;
  if (semaphore && permits_used() - freed + claimed.permits() > permits_of())
    return {Kind::kBeside};
  if (same == nullptr) return {};
  if (same->token > claimed.token) return {Kind::kBeside};
  return {holders_.size() == 1 ? Kind::kAll : Kind::kOwn, same->token};
}

void Lock::Prove(std::string_view owner) {
  FindHeld(owner, 0)->proved = true;
  if (mode_ != LockMode::kPermits) in_doubt_ = false;
}

// --- how a holding ends
// All ways lead through End, which calls `on_end` while the holder is still whole. A release or an
// ended lease leaves a kept place where MINHOLD is not over; a break does not.

void Lock::SetEnd(LockHolder& holder, int64_t lease_until_ms) {
  Unlist(holder);
  holder.lease_until_ms = lease_until_ms;
  List(holder);
}

void Lock::End(LockHolder& holder, bool may_keep_minimum, const Now& now, OnEnd on_end) {
  on_end(holder);
  if (!holder.is_minimum_hold()) Untie(holder);
  Unlist(holder);
  if (!holder.is_minimum_hold() && may_keep_minimum && holder.minhold_until_ms() > now.ms()) {
    holder.BecomeMinimumHold();
    List(holder);
  } else {
    holders_.Erase(holder.token);
  }
}

int64_t Lock::Expire(const Now& now, int64_t& left, OnEnd on_end) {
  int64_t ended = 0;
  for (; left > 0; --left) {
    const auto [ends_ms, token] = EarliestEnd();
    if (ends_ms > now.ms() || ends_ms == kNoDeadline) return ended;
    ended += ExpireOne(token, now, on_end);
  }
  return ended;
}

int64_t Lock::ExpireOne(int64_t token, const Now& now, OnEnd on_end) {
  LockHolder& holder = *holders_.Find(token);
  if (holder.EndsAtMs() > now.ms() || holder.EndsAtMs() == kNoDeadline) return 0;
  const bool held = !holder.is_minimum_hold();
  if (held && !holder.sessions().empty()) {
    SetEnd(holder, kNoDeadline);  // from now on the sessions' alone
    holder.lease_ms = 0;
    return 0;
  }
  End(holder, true, now, on_end);
  return held ? 1 : 0;
}

int64_t Lock::EndSession(uint64_t session, int64_t token, const Now& now, OnEnd on_end) {
  LockHolder& holder = *holders_.Find(token);
  if (holder.sessions().size() == 1 && !holder.has_lease()) {
    End(holder, true, now, on_end);
    return 1;
  }
  Unlist(holder);
  DropSession(holder, session);
  List(holder);
  return 0;
}

void Lock::DropSession(LockHolder& holder, uint64_t session) {
  LockClients& sessions = holder.extra.Make().sessions;
  const auto place = std::find(sessions.begin(), sessions.end(), session);
  holders_.DropBond(holder, static_cast<size_t>(place - sessions.begin()));
  sessions.erase(place);
}

int64_t Lock::Break(int64_t token, const Now& now, OnEnd on_end) {
  int64_t broken = 0;
  const int64_t ended = Forgo(token, now, [&](const LockHolder& holder) {
    broken = std::max(broken, int64_t{holder.token});
    on_end(holder);
  });
  if (broken != 0) NoteBroken(broken);
  return ended;
}

void Lock::NoteBroken(int64_t token) {
  int64_t& newest = holders_.MakeBook().broken_token;
  newest = std::max(newest, token);
}

int64_t Lock::Forgo(int64_t token, const Now& now, OnEnd on_end) {
  int64_t ended = 0;
  const auto forgo = [&](LockHolder& holder) {
    ended += holder.is_minimum_hold() ? 0 : 1;
    End(holder, false, now, on_end);
  };
  if (token == 0) {
    while (!holders_.empty()) forgo(*holders_.Find(holders_.begin()->token));
  } else if (LockHolder* const holder = holders_.Find(token)) {
    forgo(*holder);
  }
  return ended;
}

// --- a crowd
// 100,000 readers that are broken at once must not take 100,000 steps in one turn. EndAll sets a
// flag by which the lock is empty; the holders stay where they are until slices free them.

Lock::CrowdEnd Lock::EndAll(bool broken, int64_t until_ms) {
  assert(is_crowd() && !ended_);
  ended_ = true;
  if (broken) NoteBroken(holders_.newest().token);
  LockIndex& index = MakeIndex();  // of few holders with many sessions, too
  index.over_until_ms = until_ms;
  CrowdEnd end{.lost = static_cast<int64_t>(index.by_owner.size())};
  // The deadlines are sorted: the walk ends at the first that is not over.
  for (const auto& [at, lease_alone] : index.deadlines) {
    if (at.first > until_ms) break;
    end.over += lease_alone ? 1 : 0;
  }
  return end;
}

bool Lock::WasOver(const LockHolder& holder) const {
  if (index() == nullptr || holder.EndsAtMs() > index()->over_until_ms) return false;
  // The index does not show what FreeHolders has taken from the holder.
  const auto found = index()->deadlines.find({holder.EndsAtMs(), holder.token});
  return found != index()->deadlines.end() && found->second;
}

bool Lock::AllOver(int64_t until_ms) const {
  if (ties() == nullptr || !has_many() || !is_crowd()) return false;
  const auto last = [](const auto& times) {
    return times.empty() ? INT64_MIN : times.rbegin()->first;
  };
  const auto& deadlines = index()->deadlines;
  return holders_.bonds() == 0 && deadlines.size() == holders_.size() &&
         deadlines.rbegin()->first.first <= until_ms && last(index()->minholds) <= until_ms;
}

size_t Lock::FreeHolders(size_t budget, OnEnd on_end) {
  size_t freed = 0;
  while (freed < budget && !holders_.empty()) {
    LockHolder& holder = *holders_.Find(holders_.begin()->token);
    // A session is a piece as a holder is: one holder may have very many.
    for (; freed < budget && !holder.sessions().empty(); ++freed) {
      LockClients& sessions = holder.extra.Make().sessions;
      sessions.pop_back();
      holders_.DropBond(holder, sessions.size());
    }
    if (freed == budget) break;
    if (!holder.is_minimum_hold()) {
      on_end(holder);
      Untie(holder);
    }
    Unlist(holder);
    holders_.Erase(holder.token);
    ++freed;
  }
  return freed;
}

// --- looking

int64_t Lock::NextDeadlineMs() const { return EarliestEnd().first; }

std::pair<int64_t, int64_t> Lock::EarliestEnd() const {
  std::pair<int64_t, int64_t> earliest{kNoDeadline, 0};
  if (has_many()) return index()->deadlines.empty() ? earliest : index()->deadlines.begin()->first;
  for (const LockHolder& holder : holders_)
    earliest = std::min(earliest, {holder.EndsAtMs(), holder.token});
  return earliest;
}

const LockHolder* Lock::FindOwner(std::string_view owner) const {
  if (has_many()) {
    const auto found = index()->by_owner.find(owner);
    return found == index()->by_owner.end() ? nullptr : holders_.Find(found->second);
  }
  for (const LockHolder& holder : holders_)
    if (!holder.is_minimum_hold() && holder.owner == owner) return &holder;
  return nullptr;
}

const LockHolder* Lock::FindHolder(std::string_view owner, int64_t token) const {
  return owner.empty() ? holders_.Find(token) : FindOwner(owner);
}

LockHolder* Lock::FindHeld(std::string_view owner, int64_t token) {
  const LockHolder* const holder = FindOwner(owner);
  return holder == nullptr || (token != 0 && holder->token != token) ? nullptr
                                                                     : holders_.Find(holder->token);
}

int64_t Lock::permits_used() const {
  if (has_many()) return index()->permits;
  int64_t used = 0;
  for (const LockHolder& holder : holders_) used += holder.permits();
  return used;
}

// --- the index of many holders
// Three orders: by owner (who holds it), by end (what expires next), by MINHOLD (whether all is
// over); and the sums of what all have.

LockIndex& Lock::MakeIndex() {
  LockBook& book = holders_.MakeBook();
  if (book.index != nullptr) return *book.index;
  book.index = std::make_unique<LockIndex>();
  for (const LockHolder& holder : holders_) List(holder);
  return *book.index;
}

void Lock::List(const LockHolder& holder) {
  LockIndex* const to = index();
  if (to == nullptr) return;
  if (!holder.is_minimum_hold()) to->by_owner.emplace(holder.owner, int64_t{holder.token});
  if (holder.EndsAtMs() != kNoDeadline)
    to->deadlines[{holder.EndsAtMs(), holder.token}] = HasLeaseAlone(holder);
  if (!holder.is_minimum_hold() && holder.minhold_until_ms() != 0)
    to->minholds.emplace(holder.minhold_until_ms(), int64_t{holder.token});
  to->permits += holder.permits();
  to->outside_bytes += holder.OutsideBytes();
}

void Lock::Unlist(const LockHolder& holder) {
  LockIndex* const from = index();
  if (from == nullptr) return;
  if (!holder.is_minimum_hold()) from->by_owner.erase(holder.owner);
  from->deadlines.erase({holder.EndsAtMs(), holder.token});
  if (!holder.is_minimum_hold()) from->minholds.erase({holder.minhold_until_ms(), holder.token});
  from->permits -= holder.permits();
  from->outside_bytes -= holder.OutsideBytes();
}

bool Lock::Holds(int64_t token) const {
  const LockHolder* const holder = holders_.Find(token);
  return holder != nullptr && !holder->is_minimum_hold();
}

std::string Lock::Audit() const {
  int64_t permits = 0;
  size_t held = 0;
  size_t outside_bytes = 0;
  for (const LockHolder& holder : holders_) {
    permits += holder.permits();
    outside_bytes += holder.OutsideBytes();
    held += holder.is_minimum_hold() ? 0 : 1;
    if (holder.token > newest_token()) return "a token is above the newest";
    if (holders_.Find(holder.token) != &holder) return "a holder is under another's token";
    const int64_t ends_ms = holder.EndsAtMs();
    if (ends_ms == kNoDeadline && holder.sessions().empty()) return "a lock is held for ever";
    if (has_many() && ends_ms != kNoDeadline) {
      const auto listed = index()->deadlines.find({ends_ms, holder.token});
      if (listed == index()->deadlines.end()) return "a deadline is missing";
      if (listed->second != HasLeaseAlone(holder)) return "a deadline is listed wrongly";
    }
    if (!holder.is_minimum_hold() && FindOwner(holder.owner) != &holder)
      return "an owner holds twice";
  }
  if (permits != permits_used()) return "the count of permits is wrong";
  if (has_many()) {
    if (held != index()->by_owner.size()) return "an owner is listed wrongly";
    if (index()->deadlines.size() > holders_.size()) return "a deadline belongs to no holder";
    if (outside_bytes != index()->outside_bytes) return "the count of memory is wrong";
  }
  if (mode_ == LockMode::kExclusive && holders_.size() > 1) return "two exclusive holders";
  if (mode_ == LockMode::kPermits && permits > permits_of()) return "more permits than there are";
  return {};
}

}  // namespace sluice
