// See lock.h. A lock of up to kScanned holders is looked through; one holder more makes the index,
// which stays. What changes a holder's owner, end, bindings or MINHOLD takes it out of the index
// first and puts it back after (Unlist, List), for these are its keys in there.
#include "storage/locks/lock.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <utility>

#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

size_t TextBytes(const LockHolder& holder) {
  return HeapBytes(holder.owner) + HeapBytes(holder.label);
}

}  // namespace

Lock::~Lock() { Unwatch(); }

// --- ties
// Watched or not, a lock works alike. Watch tells the watcher of all holders at once, Tie and Untie
// of each that comes and goes; a lock of many holders is watched always, so that Watch never has
// many to tell of in one step.

void Lock::Watch() const {
  if (ties_ == nullptr || std::exchange(watched_, true)) return;
  for (const auto& [token, holder] : holders_)
    if (!holder.lingers()) ties_->watcher.Held(*this, holder.owner);
}

void Lock::Unwatch() const {
  if (!std::exchange(watched_, false)) return;
  for (const auto& [token, holder] : holders_)
    if (!holder.lingers()) ties_->watcher.Freed(*this, holder.owner);
}

void Lock::WatchIfMany() {
  if (index_ != nullptr) Watch();
}

// A session is bound once however often it is named: re-entry by the same session adds a hold
// alone.
void Lock::Bind(LockHolder& holder, uint64_t session) {
  LockClients& sessions = holder.sessions;
  if (session == 0 || std::find(sessions.begin(), sessions.end(), session) != sessions.end())
    return;
  sessions.push_back(session);
  if (ties_ == nullptr) return;
  if (bonds_ == nullptr) bonds_ = std::make_unique<Bonds>();
  SessionBond& bond = (*bonds_)[{holder.token, session}];
  bond.lock = this;
  bond.token = holder.token;
  ties_->sessions.Add(session, bond);
}

void Lock::Tie(const LockHolder& holder) {
  if (watched_) ties_->watcher.Held(*this, holder.owner);
}

void Lock::Untie(const LockHolder& holder) {
  if (watched_) ties_->watcher.Freed(*this, holder.owner);
  if (bonds_ == nullptr) return;
  for (const uint64_t session : holder.sessions) bonds_->erase({holder.token, session});
}

// --- who may have it

// In this order: a lock without holders suits all; its own holder is re-entrant or in the wrong
// mode; a stranger needs permits, or that both read.
LockFit Lock::Fit(std::string_view owner, const LockShape& shape) const {
  if (empty()) return LockFit::kFits;
  const bool semaphore = mode_ == LockMode::kPermits && shape.mode == LockMode::kPermits;
  if (const LockHolder* holder = FindOwner(owner)) {
    const bool same = mode_ == shape.mode &&
                      (!semaphore || (of_ == shape.of && holder->permits == shape.permits));
    return same ? LockFit::kReentrant : LockFit::kLockMode;
  }
  if (semaphore) {
    if (of_ != shape.of) return LockFit::kOtherPermits;
    if (is_in_doubt()) return LockFit::kBusy;
    return shape.permits <= of_ - permits_used_ ? LockFit::kFits : LockFit::kBusy;
  }
  const bool both_shared = mode_ == LockMode::kShared && shape.mode == LockMode::kShared;
  return both_shared && !is_in_doubt() ? LockFit::kFits : LockFit::kBusy;
}

// Mode and permits are those of the first holder; Fit has seen to it that later ones agree.
const LockHolder& Lock::Grant(std::string_view owner, const LockTerms& terms, int64_t token,
                              const Now& now) {
  assert(Fit(owner, terms.shape) == LockFit::kFits && token > newest_token_);
  assert(terms.lease_ms > 0 || terms.session != 0);
  mode_ = terms.shape.mode;
  of_ = terms.shape.of;
  newest_token_ = token;
  // Tokens grow, so this appends: holders stand in the order of their grants.
  LockHolder& holder = holders_[token];
  holder.owner = owner;
  holder.token = token;
  holder.permits = mode_ == LockMode::kPermits ? terms.shape.permits : 1;
  holder.since_ms = now.ms();
  holder.minhold_until_ms = terms.minhold_ms > 0 ? NextMs(now) + terms.minhold_ms : 0;
  Bind(holder, terms.session);
  if (terms.notify != 0) holder.notify.push_back(terms.notify);
  holder.label = terms.label.value_or("");
  text_bytes_ += TextBytes(holder);
  permits_used_ += holder.permits;
  if (terms.lease_ms > 0) holder.lease_until_ms = NextMs(now) + terms.lease_ms;
  holder.lease_ms = terms.lease_ms;
  Tie(holder);
  List(holder);
  if (holders_.size() > kScanned) MakeIndex();
  WatchIfMany();
  return holder;
}

// Bindings only get better by a re-entry: the longer lease, the longer MINHOLD, one session more.
const LockHolder& Lock::Reenter(std::string_view owner, const LockTerms& terms, const Now& now) {
  assert(Fit(owner, terms.shape) == LockFit::kReentrant);
  LockHolder& holder = *FindHeld(owner, 0);
  Unlist(holder);
  LockClients& sessions = holder.sessions;
  const auto elsewhere = std::find(sessions.begin(), sessions.end(), kSessionElsewhere);
  if (elsewhere == sessions.end()) {
    ++holder.holds;
  } else {
    // After a restart the owner of a session's lock is back: what it asks for is what it holds.
    sessions.erase(elsewhere);
    if (bonds_ != nullptr) bonds_->erase({holder.token, kSessionElsewhere});
  }
  Bind(holder, terms.session);
  const bool leased = holder.lease_until_ms != kNoDeadline;
  const int64_t until_ms = NextMs(now) + terms.lease_ms;
  if (terms.lease_ms > 0 && (!leased || holder.lease_until_ms < until_ms)) {
    holder.lease_until_ms = until_ms;
    holder.lease_ms = terms.lease_ms;
  }
  if (terms.minhold_ms > 0) {
    holder.minhold_until_ms = std::max(holder.minhold_until_ms, NextMs(now) + terms.minhold_ms);
  }
  List(holder);
  if (terms.label) {
    text_bytes_ -= HeapBytes(holder.label);
    holder.label = *terms.label;
    text_bytes_ += HeapBytes(holder.label);
  }
  LockClients& notify = holder.notify;
  if (terms.notify != 0 && std::find(notify.begin(), notify.end(), terms.notify) == notify.end())
    notify.push_back(terms.notify);
  return holder;
}

void Lock::SweepNotified(std::string_view owner, absl::FunctionRef<bool(uint64_t)> is_connected) {
  LockHolder* holder = FindHeld(owner, 0);
  if (holder == nullptr) return;
  LockClients& notify = holder->notify;
  notify.erase(std::remove_if(notify.begin(), notify.end(),
                              [&](uint64_t connection) { return !is_connected(connection); }),
               notify.end());
}

bool Lock::IsHeldBy(std::string_view owner, int64_t token) const {
  const LockHolder* holder = FindOwner(owner);
  return holder != nullptr && (token == 0 || holder->token == token);
}

// From now on, be the new end earlier than the old one: RENEW may shorten.
const LockHolder* Lock::Renew(std::string_view owner, int64_t lease_ms, int64_t token,
                              const Now& now) {
  assert(lease_ms > 0 && lease_ms <= kLeaseMsMax);
  LockHolder* holder = FindHeld(owner, token);
  if (holder == nullptr) return nullptr;
  SetEnd(*holder, NextMs(now) + lease_ms);
  holder->lease_ms = lease_ms;
  return holder;
}

// One hold, or all of them; the token, if given, has to be the holder's.
int64_t Lock::Release(std::string_view owner, bool all, int64_t token, const Now& now,
                      OnEnd on_end) {
  LockHolder* holder = FindHeld(owner, token);
  if (holder == nullptr) return -1;
  if (!all && holder->holds > 1) return --holder->holds;
  End(holders_.find(holder->token), true, now, on_end);
  return 0;
}

// From a log: first whether it can be beside the other holders, then in the place of the one with
// its token. Nothing has changed when this says no.
bool Lock::Restore(const LockHolder& restored, const LockShape& shape) {
  assert(!restored.sessions.empty() || restored.EndsAtMs() != kNoDeadline);
  const auto place = holders_.find(restored.token);
  const bool alone = holders_.size() == (place == holders_.end() ? 0 : 1);
  const int64_t used = permits_used_ - (place == holders_.end() ? 0 : place->second.permits);
  const LockHolder* const same = restored.lingers() ? nullptr : FindOwner(restored.owner);
  if (same != nullptr && same->token != restored.token) return false;
  if (!alone && (mode_ != shape.mode || mode_ == LockMode::kExclusive || of_ != shape.of))
    return false;
  if (shape.mode == LockMode::kPermits && used + restored.permits > shape.of) return false;
  if (place != holders_.end()) {
    Unlist(place->second);
    if (!place->second.lingers()) Untie(place->second);
    text_bytes_ -= TextBytes(place->second);
  }
  in_doubt_ |= !restored.proved || shape.mode == LockMode::kPermits;
  mode_ = shape.mode;
  of_ = shape.of;
  permits_used_ = used + restored.permits;
  newest_token_ = std::max(newest_token_, restored.token);
  LockHolder& holder = holders_[restored.token];
  holder = restored;
  holder.sessions.clear();
  for (const uint64_t session : restored.sessions) Bind(holder, session);
  text_bytes_ += TextBytes(holder);
  if (!holder.lingers()) Tie(holder);
  List(holder);
  if (holders_.size() > kScanned) MakeIndex();
  WatchIfMany();
  return true;
}

// Which of the holders of permits has given them back cannot be told, so none is thrown out.
Lock::InTheWay Lock::FindInTheWay(const LockHolder& claimed, const LockShape& shape) const {
  using Kind = InTheWay::Kind;
  if (empty()) return {};
  const bool beside = mode_ == shape.mode && of_ == shape.of && shape.mode != LockMode::kExclusive;
  if (!beside) return {holders_.rbegin()->first > claimed.token ? Kind::kBeside : Kind::kAll};
  const LockHolder* const same = FindOwner(claimed.owner);
  const int64_t freed = same == nullptr ? 0 : same->permits;
  if (shape.mode == LockMode::kPermits && permits_used_ - freed + claimed.permits > of_)
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
// ended lease leaves a lingering place where MINHOLD is not over; a break does not.

void Lock::SetEnd(LockHolder& holder, int64_t lease_until_ms) {
  Unlist(holder);
  holder.lease_until_ms = lease_until_ms;
  List(holder);
}

// Out of all books in this order: told, untied, unlisted; then it lingers or is erased.
Lock::Holders::iterator Lock::End(Holders::iterator place, bool may_linger, const Now& now,
                                  OnEnd on_end) {
  LockHolder& holder = place->second;
  on_end(holder);
  if (!holder.lingers()) Untie(holder);
  Unlist(holder);
  if (!holder.lingers() && may_linger && holder.minhold_until_ms > now.ms()) {
    holder.holds = 0;
    holder.sessions.clear();
    holder.notify.clear();
    List(holder);
    return std::next(place);
  }
  permits_used_ -= holder.permits;
  text_bytes_ -= TextBytes(holder);
  return holders_.erase(place);
}

// `left` bounds the work: a crowd whose leases end in the same ms ends in slices.
int64_t Lock::Expire(const Now& now, int64_t& left, OnEnd on_end) {
  int64_t ended = 0;
  for (; left > 0; --left) {
    const auto [ends_ms, token] = EarliestEnd();
    if (ends_ms > now.ms() || ends_ms == kNoDeadline) return ended;
    ended += ExpireOne(token, now, on_end);
  }
  return ended;
}

// A lease that is over ends the holding only where no session keeps it; a lingering place just
// ends.
int64_t Lock::ExpireOne(int64_t token, const Now& now, OnEnd on_end) {
  const auto place = holders_.find(token);
  LockHolder& holder = place->second;
  if (holder.EndsAtMs() > now.ms() || holder.EndsAtMs() == kNoDeadline) return 0;
  const bool held = !holder.lingers();
  if (held && !holder.sessions.empty()) {
    SetEnd(holder, kNoDeadline);  // from now on the sessions' alone
    holder.lease_ms = 0;
    return 0;
  }
  End(place, true, now, on_end);
  return held ? 1 : 0;
}

// When the last binding goes the holding ends; before that it only loses one.
int64_t Lock::EndSession(uint64_t session, int64_t token, const Now& now, OnEnd on_end) {
  const auto place = holders_.find(token);
  assert(place != holders_.end());
  LockHolder& holder = place->second;
  LockClients& sessions = holder.sessions;
  if (sessions.size() == 1 && holder.lease_until_ms == kNoDeadline) {
    End(place, true, now, on_end);
    return 1;
  }
  Unlist(holder);
  sessions.erase(std::find(sessions.begin(), sessions.end(), session));
  List(holder);
  bonds_->erase({token, session});
  return 0;
}

// Broken tokens are stale from now on; those of later grants are not.
int64_t Lock::Break(int64_t token, const Now& now, OnEnd on_end) {
  return Forgo(token, now, [&](const LockHolder& holder) {
    broken_token_ = std::max(broken_token_, holder.token);
    on_end(holder);
  });
}

int64_t Lock::Forgo(int64_t token, const Now& now, OnEnd on_end) {
  int64_t ended = 0;
  auto place = token == 0 ? holders_.begin() : holders_.find(token);
  const auto end = token == 0 || place == holders_.end() ? holders_.end() : std::next(place);
  while (place != end) {
    ended += place->second.lingers() ? 0 : 1;
    place = End(place, false, now, on_end);
  }
  return ended;
}

// --- a crowd
// 100,000 readers that are broken at once must not take 100,000 steps in one turn. EndAll sets a
// flag by which the lock is empty; the holders stay where they are until slices free them.

// The deadlines are sorted, so only those that are over are looked at.
Lock::CrowdEnd Lock::EndAll(bool broken, int64_t until_ms) {
  assert(is_crowd() && !ended_);
  ended_ = true;
  if (broken) broken_token_ = std::max(broken_token_, holders_.rbegin()->first);
  MakeIndex();  // of few holders with many sessions
  over_until_ms_ = until_ms;
  CrowdEnd end{.lost = static_cast<int64_t>(index_->by_owner.size())};
  for (const auto& [at, lease_alone] : index_->deadlines) {
    if (at.first > until_ms) break;
    end.over += lease_alone ? 1 : 0;
  }
  return end;
}

// What FreeHolders has taken from it does not show in the index.
bool Lock::WasOver(const LockHolder& holder) const {
  if (holder.EndsAtMs() > over_until_ms_) return false;
  const auto found = index_->deadlines.find({holder.EndsAtMs(), holder.token});
  return found != index_->deadlines.end() && found->second;
}

// A session keeps a holder whose lease is over, and so does MINHOLD its place.
bool Lock::AllOver(int64_t until_ms) const {
  if (ties_ == nullptr || index_ == nullptr || !is_crowd()) return false;
  const auto last = [](const auto& times) {
    return times.empty() ? INT64_MIN : times.rbegin()->first;
  };
  const auto& deadlines = index_->deadlines;
  return (bonds_ == nullptr || bonds_->empty()) && deadlines.size() == holders_.size() &&
         deadlines.rbegin()->first.first <= until_ms && last(index_->minholds) <= until_ms;
}

// A session is a piece as a holder is: one holder may have very many.
size_t Lock::FreeHolders(size_t budget, OnEnd on_end) {
  size_t freed = 0;
  while (freed < budget && !holders_.empty()) {
    LockHolder& holder = holders_.begin()->second;
    for (; freed < budget && !holder.sessions.empty(); ++freed) {
      if (bonds_ != nullptr) bonds_->erase({holder.token, holder.sessions.back()});
      holder.sessions.pop_back();
    }
    if (freed == budget) break;
    if (!holder.lingers()) {
      on_end(holder);
      Untie(holder);
    }
    Unlist(holder);
    permits_used_ -= holder.permits;
    text_bytes_ -= TextBytes(holder);
    holders_.erase(holders_.begin());
    ++freed;
  }
  return freed;
}

// --- looking

int64_t Lock::NextDeadlineMs() const { return EarliestEnd().first; }

std::pair<int64_t, int64_t> Lock::EarliestEnd() const {
  std::pair<int64_t, int64_t> earliest{kNoDeadline, 0};
  if (index_ != nullptr)
    return index_->deadlines.empty() ? earliest : index_->deadlines.begin()->first;
  for (const auto& [token, holder] : holders_)
    earliest = std::min(earliest, {holder.EndsAtMs(), token});
  return earliest;
}

// Constant and other locks share one body.
template <typename Self>
auto Lock::FindOwnerIn(Self& self, std::string_view owner)
    -> decltype(&self.holders_.begin()->second) {
  if (self.index_ != nullptr) {
    const auto found = self.index_->by_owner.find(owner);
    return found == self.index_->by_owner.end() ? nullptr
                                                : &self.holders_.find(found->second)->second;
  }
  for (auto& [token, holder] : self.holders_)
    if (!holder.lingers() && holder.owner == owner) return &holder;
  return nullptr;
}

const LockHolder* Lock::FindOwner(std::string_view owner) const {
  return FindOwnerIn(*this, owner);
}

const LockHolder* Lock::FindHolder(std::string_view owner, int64_t token) const {
  if (!owner.empty()) return FindOwner(owner);
  const auto found = holders_.find(token);
  return found == holders_.end() ? nullptr : &found->second;
}

LockHolder* Lock::FindHeld(std::string_view owner, int64_t token) {
  LockHolder* const holder = FindOwnerIn(*this, owner);
  return holder == nullptr || (token != 0 && holder->token != token) ? nullptr : holder;
}

// --- the index of many holders
// Three orders: by owner (who holds it), by end (what expires next), by MINHOLD (whether all is
// over).

void Lock::MakeIndex() {
  if (index_ != nullptr) return;
  index_ = std::make_unique<Index>();
  for (const auto& [token, holder] : holders_) List(holder);
}

// The views of by_owner point into holders_, whose nodes do not move.
void Lock::List(const LockHolder& holder) {
  if (index_ == nullptr) return;
  if (!holder.lingers()) index_->by_owner.emplace(holder.owner, holder.token);
  if (holder.EndsAtMs() != kNoDeadline)
    index_->deadlines[{holder.EndsAtMs(), holder.token}] = HasLeaseAlone(holder);
  if (!holder.lingers() && holder.minhold_until_ms != 0)
    index_->minholds.emplace(holder.minhold_until_ms, holder.token);
}

void Lock::Unlist(const LockHolder& holder) {
  if (index_ == nullptr) return;
  if (!holder.lingers()) index_->by_owner.erase(holder.owner);
  index_->deadlines.erase({holder.EndsAtMs(), holder.token});
  if (!holder.lingers()) index_->minholds.erase({holder.minhold_until_ms, holder.token});
}

bool Lock::Holds(int64_t token) const {
  const auto found = holders_.find(token);
  return found != holders_.end() && !found->second.lingers();
}

// An estimate in O(1): of nodes of trees, with the texts counted as they come and go.
size_t Lock::MemoryBytes() const {
  constexpr size_t kIndexed = TreeNodeBytes<std::map<std::string_view, int64_t>>() +
                              TreeNodeBytes<std::set<std::pair<int64_t, int64_t>>>();
  const size_t a_holder = TreeNodeBytes<Holders>() + (index_ == nullptr ? 0 : kIndexed);
  // One in the keyspace adds what it has of its own; of the whole malloc makes so much more.
  constexpr size_t kRoundedUp = 40;
  return sizeof(*this) + kRoundedUp + holders_.size() * a_holder + text_bytes_ +
         HeapBytes(name_.key) +
         (bonds_ == nullptr ? 0 : sizeof(Bonds) + bonds_->size() * TreeNodeBytes<Bonds>());
}

std::string Lock::Audit() const {
  int64_t permits = 0;
  size_t held = 0;
  for (const auto& [token, holder] : holders_) {
    permits += holder.permits;
    held += holder.lingers() ? 0 : 1;
    if (token > newest_token_ || token != holder.token) return "a token is above the newest";
    const int64_t ends_ms = holder.EndsAtMs();
    if (ends_ms == kNoDeadline && holder.sessions.empty()) return "a lock is held for ever";
    if (index_ != nullptr && ends_ms != kNoDeadline) {
      const auto listed = index_->deadlines.find({ends_ms, token});
      if (listed == index_->deadlines.end()) return "a deadline is missing";
      if (listed->second != HasLeaseAlone(holder)) return "a deadline is listed wrongly";
    }
    if (!holder.lingers() && FindOwner(holder.owner) != &holder) return "an owner holds twice";
  }
  if (permits != permits_used_) return "the count of permits is wrong";
  if (index_ != nullptr && held != index_->by_owner.size()) return "an owner is listed wrongly";
  if (index_ != nullptr && index_->deadlines.size() > holders_.size())
    return "a deadline belongs to no holder";
  if (mode_ == LockMode::kExclusive && holders_.size() > 1) return "two exclusive holders";
  if (mode_ == LockMode::kPermits && permits > of_) return "more permits than there are";
  return {};
}

}  // namespace sluice
