// See source.h. Replies are a stranger's: each is looked at for its shape before it is read, and
// what has another is left out.
#include "server/program/top/source.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "server/program/top/figures.h"

namespace sluice {
namespace {

// Positions in what LOCK.INFO, LOCK.WAITERS and SLOWLOG GET answer.
enum InfoAt : size_t { kMode, kPermits, kToken, kHolders, kWaiters, kInfoParts };
enum HolderAt : size_t { kOwner, kHolderToken, kLeaseMs = 4, kLabel = 7, kHolderParts };
enum WaiterAt : size_t { kWaiter, kWaitedMs = 2, kLeftMs, kWaiterParts };
enum SlowAt : size_t { kUnixS = 1, kMicros, kWords, kSlowParts };

bool IsError(const Reply& reply) { return reply.kind == Reply::Kind::kError; }

void Add(std::string& requests, std::initializer_list<std::string_view> words) {
  AppendRequest(requests, Args(words.begin(), words.size()));
}

// The sooner of two ends of leases; a holder without a lease comes after all others.
int64_t Sooner(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  return std::min(a, b);
}

// False: it is free by now, or the answer is none.
bool ReadLock(const Reply& reply, LockFacts& lock) {
  if (reply.elements.size() < kInfoParts) return false;
  const std::vector<Reply>& holders = reply.elements[kHolders].elements;
  lock.is_known = true;
  lock.mode = reply.elements[kMode].text;
  lock.holders = static_cast<int64_t>(holders.size());
  lock.lease_ms = -1;
  lock.waiters = reply.elements[kWaiters].integer;
  lock.is_waited_for = lock.waiters > 0;
  for (const Reply& holder : holders) {
    if (holder.elements.size() < kHolderParts) continue;
    lock.lease_ms = Sooner(lock.lease_ms, holder.elements[kLeaseMs].integer);
    if (&holder != &holders.front()) continue;
    lock.owner = holder.elements[kOwner].text;
    lock.token = holder.elements[kHolderToken].integer;
    lock.label = holder.elements[kLabel].text;
  }
  return true;
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

// In short: NOPERM, LOADING.
std::string_view InShort(const Reply& error) {
  const std::string_view text = error.text;
  const std::string_view code = text.substr(0, text.find(' '));
  return code == "ERR" ? text : code;
}

// There is one line for all.
void Note(std::string_view what, const Reply& error, std::string& note) {
  const std::string words = Concat(what, ": ", InShort(error));
  if (note.find(words) == note.npos) ConcatTo(note, note.empty() ? "" : "; ", words);
}

// A pattern that all names with that part match.
std::string PatternOf(std::string_view part) {
  constexpr std::string_view kSigns = "*?[]^-\\";
  std::string pattern = "*";
  for (const char c : part) {
    if (kSigns.find(c) != kSigns.npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

// The locks that are asked for: those in view, then the first.
std::vector<LockFacts*> ChosenFrom(std::vector<LockFacts>& locks, const TopQuery& query) {
  const std::set<std::string_view> in_view(query.in_view.begin(), query.in_view.end());
  std::vector<LockFacts*> chosen;
  for (const bool is_in_view : {true, false}) {
    for (LockFacts& lock : locks) {
      if (chosen.size() == query.locks_max) return chosen;
      if (lock.obstacle.empty() && in_view.contains(lock.name) == is_in_view)
        chosen.push_back(&lock);
    }
  }
  return chosen;
}

// The sections that every server has, and then ours.
constexpr std::string_view kSections[] = {"", "locks", "turns", "timers", "limits"};

}  // namespace

std::string TopSource::Look(const TopQuery& query, TopFacts& facts) {
  is_refused_ = false;
  while (true) {
    std::string fault = LookOnce(query, facts);
    if (fault.empty()) return fault;
    const bool is_too_large = link_ && link_->too_large();
    link_.reset();
    if (!is_too_large || names_at_once_ == 0) return fault;
    // Names of a megabyte each, or locks with a hundred thousand holders: fewer of them.
    names_at_once_ /= 4;
    facts = {.at_ms = facts.at_ms};
  }
}

std::string TopSource::LookOnce(const TopQuery& query, TopFacts& facts) {
  facts.address = target_.server;
  std::string fault = Begin();
  if (fault.empty()) fault = LookAtServer(facts);
  if (fault.empty() && has_locks_) fault = ListLocks(query.part, facts);
  if (fault.empty()) fault = LookAtLocks(query, facts);
  if (fault.empty()) fault = LookAtWaiters(facts);
  return fault;
}

TopSource::Outcome TopSource::Break(const BreakOrder& order) {
  std::string fault = Begin();
  if (!fault.empty()) return {false, Concat(order.name, " was not broken: ", fault)};
  std::string request;
  order.token == 0 ? Add(request, {"LOCK.BREAK", order.name})
                   : Add(request, {"LOCK.BREAK", order.name, "TOKEN", Concat(order.token)});
  std::vector<Reply> replies;
  fault = Exchange(request, 1, replies);
  if (!fault.empty()) {
    link_.reset();
    return {false, Concat("it is not known whether ", order.name, " was broken: ", fault)};
  }
  const Reply& reply = replies.front();
  if (IsError(reply)) return {false, Concat(order.name, " was not broken: ", reply.text)};
  const std::string holder = order.holder.empty() ? "anybody" : order.holder;
  if (reply.integer == 0)
    return {false, Concat(order.name, " was not held by ", holder, " any more")};
  return {true, Concat(order.name, " was broken, held by ", holder)};
}

// --- the connection

std::string TopSource::Begin() {
  if (link_) return {};
  auto link = std::make_unique<RedisLink>(target_.tls, kPatience, beside_);
  if (std::string fault = link->Connect(target_.server); !fault.empty()) return fault;
  link_ = std::move(link);
  has_locks_ = true;
  walk_ = {};
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

std::string TopSource::LookAtServer(TopFacts& facts) {
  std::string requests;
  for (const std::string_view section : kSections)
    section.empty() ? Add(requests, {"INFO"}) : Add(requests, {"INFO", section});
  Add(requests, {"SLOWLOG", "GET", Concat(kSlowShown)});
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, std::size(kSections) + 1, replies); !fault.empty())
    return fault;
  for (size_t i = 0; i < std::size(kSections); ++i) {
    if (!IsError(replies[i])) {
      facts.info.Add(replies[i].text);
    } else if (kSections[i].empty()) {
      is_refused_ = replies[i].text.starts_with("NO");  // NOAUTH, NOPERM
      return Concat(target_.server, ": ", replies[i].text);
    }
  }
  const Reply& slow = replies.back();
  IsError(slow) ? Note("SLOWLOG", slow, facts.note) : ReadSlow(slow, facts);
  return {};
}

// --- names

std::string TopSource::ListLocks(const std::string& part, TopFacts& facts) {
  if (names_at_once_ == 0) {
    facts.note += "what it tells of locks is too large to be shown";
    return {};
  }
  if (part_ != part) {
    part_ = part;
    walk_ = {};
    listed_.clear();
    has_been_around_ = false;
  }
  std::vector<std::string> waited;
  std::string fault = ListWaited(waited, facts.note);
  if (fault.empty()) fault = GoOn(facts.note);
  if (!fault.empty()) return fault;
  const std::set<std::string_view> is_waited_for(waited.begin(), waited.end());
  std::set<std::string_view> others(listed_.begin(), listed_.end());
  others.insert(walk_.names.begin(), walk_.names.end());
  for (const std::string& name : waited)
    facts.locks.push_back({.name = name, .is_waited_for = true});
  for (const std::string_view name : others) {
    if (!is_waited_for.contains(name)) facts.locks.push_back({.name = std::string(name)});
  }
  for (LockFacts& lock : facts.locks) {
    const auto bytes = static_cast<int64_t>(lock.name.size());
    if (lock.name.size() > kNameBytesMax) lock.obstacle = Concat(CountText(bytes), " bytes long");
  }
  facts.is_listing = !has_been_around_;
  facts.has_all_locks = has_been_around_ && !is_cut_;
  return {};
}

std::string TopSource::ListWaited(std::vector<std::string>& names, std::string& note) {
  std::string cursor = "0";
  for (int call = 0; call < kWaitedCallsMax && has_locks_; ++call) {
    std::string fault = ListPage(cursor, /*waited=*/true, names, note);
    if (!fault.empty() || cursor == "0") return fault;
  }
  return {};
}

std::string TopSource::GoOn(std::string& note) {
  constexpr size_t kBytesAtOnce = 1 << 20;
  const size_t bytes_before = walk_.bytes;
  for (int call = 0; call < kCallsAtOnce && has_locks_; ++call) {
    std::vector<std::string> names;
    if (std::string fault = ListPage(walk_.cursor, /*waited=*/false, names, note); !fault.empty())
      return fault;
    for (std::string& name : names) {
      walk_.bytes += name.size();
      walk_.names.insert(std::move(name));
    }
    const bool is_full = walk_.names.size() > kNamesMax || walk_.bytes > kNamesBytesMax;
    if (is_full || walk_.cursor == "0") {
      is_cut_ = walk_.cursor != "0";
      listed_ = std::exchange(walk_, {}).names;
      has_been_around_ = true;
      return {};
    }
    if (walk_.bytes > bytes_before + kBytesAtOnce) return {};
  }
  return {};
}

// The cursor goes on; an error ends the walk.
std::string TopSource::ListPage(std::string& cursor, bool waited, std::vector<std::string>& names,
                                std::string& note) {
  std::vector<std::string> words = {"LOCK.LIST", std::exchange(cursor, "0"), "COUNT",
                                    Concat(names_at_once_)};
  if (!part_.empty()) words.insert(words.end(), {"MATCH", PatternOf(part_)});
  if (waited) words.emplace_back("WAITED");
  std::string request;
  AppendRequest(request, std::vector<std::string_view>(words.begin(), words.end()));
  std::vector<Reply> replies;
  if (std::string fault = Exchange(request, 1, replies); !fault.empty()) return fault;
  const Reply& reply = replies.front();
  if (IsError(reply)) {
    has_locks_ = !reply.text.starts_with("ERR unknown command");
    if (has_locks_) Note("LOCK.LIST", reply, note);
    return {};
  }
  if (reply.elements.size() != 2) return {};
  cursor = reply.elements[0].text;
  for (const Reply& name : reply.elements[1].elements) names.push_back(name.text);
  return {};
}

// --- locks

std::string TopSource::LookAtLocks(const TopQuery& query, TopFacts& facts) {
  std::string requests;
  const std::vector<LockFacts*> asked = ChosenFrom(facts.locks, query);
  for (const LockFacts* const lock : asked) Add(requests, {"LOCK.INFO", lock->name});
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, asked.size(), replies); !fault.empty()) return fault;
  std::set<std::string> gone;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (IsError(replies[i])) {
      asked[i]->obstacle = InShort(replies[i]);
    } else if (!ReadLock(replies[i], *asked[i])) {
      listed_.erase(asked[i]->name);
      walk_.names.erase(asked[i]->name);
      gone.insert(asked[i]->name);
    }
  }
  const auto is_gone = [&](const LockFacts& lock) { return gone.contains(lock.name); };
  if (!gone.empty()) std::erase_if(facts.locks, is_gone);
  return {};
}

std::string TopSource::LookAtWaiters(TopFacts& facts) {
  std::string requests;
  std::vector<LockFacts*> asked;
  int64_t left = kWaitersAskedMax;
  for (LockFacts& lock : facts.locks) {
    if (lock.waiters == 0 || lock.waiters > left) continue;
    left -= lock.waiters;
    Add(requests, {"LOCK.WAITERS", lock.name});
    asked.push_back(&lock);
  }
  std::vector<Reply> replies;
  if (std::string fault = Exchange(requests, asked.size(), replies); !fault.empty()) return fault;
  for (size_t i = 0; i < asked.size(); ++i) ReadWaiters(replies[i], *asked[i]);
  return {};
}

}  // namespace sluice
