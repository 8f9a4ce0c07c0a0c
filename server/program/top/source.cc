// See source.h. Replies are a stranger's: each is looked at for its shape before it is read, and
// what has another is left out.
#include "server/program/top/source.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// Positions in what LOCK.INFO, LOCK.WAITERS and SLOWLOG GET answer.
enum InfoAt : size_t { kMode, kPermits, kToken, kHolders, kWaiters, kInfoParts };
enum HolderAt : size_t { kOwner, kLeaseMs = 4, kLabel = 7, kHolderParts };
enum WaiterAt : size_t { kWaiter, kWaitedMs = 2, kLeftMs, kWaiterParts };
enum SlowAt : size_t { kUnixS = 1, kMicros, kWords, kSlowParts };

bool IsError(const Reply& reply) { return reply.kind == Reply::Kind::kError; }

void Add(std::string& requests, std::initializer_list<std::string_view> words) {
  RedisLink::AddRequest(words, requests);
}

// The sooner of two ends of leases; a holder without a lease comes after all others.
int64_t Sooner(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  return std::min(a, b);
}

// Nothing: it is free by now, or the answer is none.
std::optional<LockFacts> ReadLock(const std::string& name, const Reply& reply) {
  if (reply.elements.size() < kInfoParts) return std::nullopt;
  const std::vector<Reply>& holders = reply.elements[kHolders].elements;
  LockFacts lock{.name = name,
                 .is_known = true,
                 .mode = reply.elements[kMode].text,
                 .holders = static_cast<int64_t>(holders.size()),
                 .lease_ms = -1,
                 .waiters = reply.elements[kWaiters].integer};
  for (const Reply& holder : holders) {
    if (holder.elements.size() < kHolderParts) continue;
    lock.lease_ms = Sooner(lock.lease_ms, holder.elements[kLeaseMs].integer);
    if (&holder != &holders.front()) continue;
    lock.owner = holder.elements[kOwner].text;
    lock.label = holder.elements[kLabel].text;
  }
  return lock;
}

void ReadWaiters(const Reply& reply, LockFacts& lock) {
  for (const Reply& waiter : reply.elements) {
    if (lock.first_waiters.size() == TopSource::kWaitersShown) return;
    if (waiter.elements.size() < kWaiterParts) continue;
    lock.first_waiters.push_back({waiter.elements[kWaiter].text, waiter.elements[kWaitedMs].integer,
                                  waiter.elements[kLeftMs].integer});
  }
}

void ReadSlow(const Reply& reply, TopFacts& facts) {
  for (const Reply& entry : reply.elements) {
    if (entry.elements.size() < kSlowParts) continue;
    SlowFacts slow{.unix_s = entry.elements[kUnixS].integer,
                   .micros = entry.elements[kMicros].integer};
    for (const Reply& word : entry.elements[kWords].elements) slow.words.push_back(word.text);
    facts.slow.push_back(std::move(slow));
  }
}

// In short, as there is one line for all: NOPERM, LOADING.
void Note(std::string_view what, const Reply& error, std::string& note) {
  const std::string_view text = error.text;
  const std::string_view code = text.substr(0, text.find(' '));
  ConcatTo(note, note.empty() ? "" : "; ", what, ": ", code == "ERR" ? text : code);
}

// The sections that every server has, and then ours.
constexpr std::string_view kSections[] = {"", "locks", "turns", "timers", "limits"};

}  // namespace

std::string TopSource::Look(TopFacts& facts) {
  is_refused_ = false;
  while (true) {
    std::string fault = LookOnce(facts);
    if (fault.empty()) return fault;
    const bool is_too_large = link_ && link_->too_large();
    link_.reset();
    if (!is_too_large || locks_at_once_ == 0) return fault;
    // Names of a megabyte each, or locks with a hundred thousand holders: fewer of them.
    locks_at_once_ /= 4;
    facts = {.at_ms = facts.at_ms};
  }
}

std::string TopSource::LookOnce(TopFacts& facts) {
  facts.address = target_.server;
  std::set<std::string> names = std::exchange(in_view_, {});
  if (locks_at_once_ == 0) names.clear();
  std::string fault = Begin();
  if (fault.empty()) fault = LookAtAll(facts, names);
  if (fault.empty()) fault = LookAtLocks(names, facts);
  if (fault.empty()) fault = LookAtWaiters(facts);
  return fault;
}

// --- the connection

std::string TopSource::Begin() {
  if (link_) return {};
  auto link = std::make_unique<RedisLink>(target_.tls, kPatience, beside_);
  if (std::string fault = link->Connect(target_.server); !fault.empty()) return fault;
  link_ = std::move(link);
  has_locks_ = true;
  cursor_ = "0";
  std::string requests;
  size_t count = 0;
  if (!target_.password.empty()) {
    target_.user.empty() ? Add(requests, {"AUTH", target_.password})
                         : Add(requests, {"AUTH", target_.user, target_.password});
    ++count;
  }
  if (target_.database != 0) {
    Add(requests, {"SELECT", Concat(target_.database)});
    ++count;
  }
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, count, replies); !fault.empty()) return fault;
  for (const Reply& reply : replies) {
    if (!IsError(reply) || reply.text.starts_with("LOADING")) continue;
    is_refused_ = true;
    return Concat(target_.server, ": ", reply.text);
  }
  return {};
}

std::string TopSource::Broken() { return Concat(target_.server, ": ", link_->fault()); }

std::string TopSource::Exchange(std::string_view requests, size_t count,
                                std::vector<Reply>& replies) {
  if (!link_->Send(requests)) return Broken();
  while (replies.size() < count) {
    std::optional<Reply> reply = link_->Next();
    if (!reply) return Broken();
    replies.push_back(std::move(*reply));
  }
  return {};
}

// --- what is asked

std::string TopSource::LookAtAll(TopFacts& facts, std::set<std::string>& names) {
  std::string requests;
  for (const std::string_view section : kSections)
    section.empty() ? Add(requests, {"INFO"}) : Add(requests, {"INFO", section});
  Add(requests, {"SLOWLOG", "GET", Concat(kSlowShown)});
  size_t count = std::size(kSections) + 1;
  const bool asks_locks = has_locks_ && locks_at_once_ > 0;
  if (asks_locks) Add(requests, {"LOCK.LIST", cursor_, "COUNT", Concat(locks_at_once_)});
  count += asks_locks;

  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, count, replies); !fault.empty()) return fault;
  for (size_t i = 0; i < std::size(kSections); ++i) {
    if (!IsError(replies[i])) {
      facts.info.Add(replies[i].text);
    } else if (kSections[i].empty()) {
      is_refused_ = replies[i].text.starts_with("NO");  // NOAUTH, NOPERM
      return Concat(target_.server, ": ", replies[i].text);
    }
  }
  const Reply& slow = replies[std::size(kSections)];
  IsError(slow) ? Note("SLOWLOG", slow, facts.note) : ReadSlow(slow, facts);
  if (asks_locks) ReadNames(replies.back(), names, facts.note);
  if (locks_at_once_ == 0) facts.note += "what it tells of locks is too large to be shown";
  return {};
}

void TopSource::ReadNames(const Reply& reply, std::set<std::string>& names, std::string& note) {
  if (IsError(reply)) {
    has_locks_ = !reply.text.starts_with("ERR unknown command");
    if (has_locks_) Note("LOCK.LIST", reply, note);
    return;
  }
  if (reply.elements.size() != 2) return;
  cursor_ = reply.elements[0].text;
  for (const Reply& name : reply.elements[1].elements) names.insert(name.text);
}

std::string TopSource::LookAtLocks(const std::set<std::string>& names, TopFacts& facts) {
  std::string requests;
  std::vector<const std::string*> asked;
  for (const std::string& name : names) {
    if (name.size() > kNameBytesMax) {
      facts.locks.push_back({.name = name});
      continue;
    }
    Add(requests, {"LOCK.INFO", name});
    asked.push_back(&name);
  }
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, asked.size(), replies); !fault.empty()) return fault;
  for (size_t i = 0; i < asked.size(); ++i) {
    std::optional<LockFacts> lock = ReadLock(*asked[i], replies[i]);
    if (!lock) continue;
    if (lock->waiters > 0 && in_view_.size() < kKeptInViewMax) in_view_.insert(*asked[i]);
    facts.locks.push_back(std::move(*lock));
  }
  return {};
}

std::string TopSource::LookAtWaiters(TopFacts& facts) {
  std::string requests;
  std::vector<LockFacts*> asked;
  for (LockFacts& lock : facts.locks) {
    if (lock.waiters == 0 || lock.waiters > kWaitersAskedMax) continue;
    Add(requests, {"LOCK.WAITERS", lock.name});
    asked.push_back(&lock);
  }
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, asked.size(), replies); !fault.empty()) return fault;
  for (size_t i = 0; i < asked.size(); ++i) ReadWaiters(replies[i], *asked[i]);
  return {};
}

}  // namespace sluice
