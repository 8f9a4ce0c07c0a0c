// See tracking.h. A client's own invalidations wait in pending_ until the reply to its command has
// been written.
#include "server/notify/tracking.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "absl/base/macros.h"
#include "boost/multi_index/hashed_index.hpp"
#include "boost/multi_index/member.hpp"
#include "boost/multi_index/sequenced_index.hpp"
#include "boost/multi_index_container.hpp"
#include "boost/tuple/tuple.hpp"
#include "protocol/text/concat.h"
#include "server/clients/output_bound.h"
#include "storage/memory/heap_bytes.h"

namespace sluice {
namespace {

// RESP, written by hand: the payload goes to many clients as it is.
void AddBulk(std::string& bytes, std::string_view text) {
  ConcatTo(bytes, '$', text.size(), "\r\n", text, "\r\n");
}

constexpr int kKeysPerSlice = 1000;  // a turn: well below a millisecond

// In the place of a list: all keys. Null, in the client's protocol.
constexpr std::string_view kAllKeys;

// An invalidation names its keys in an array, also where it is one.
std::string ListOf(std::string_view key) {
  std::string bytes = "*1\r\n";
  AddBulk(bytes, key);
  return bytes;
}

// A place in a btree, whose nodes of 256 bytes are filled to two thirds. A set of clients
// begins with room for one, behind a head of 16 bytes.
constexpr size_t TreeItemBytes(size_t item_bytes) { return item_bytes * 3 / 2; }
constexpr size_t kClientBytes = 2 * sizeof(uint64_t);
constexpr size_t kFirstClientBytes = BlockSize(16 + sizeof(uint64_t));

}  // namespace

// Never without clients.
struct Tracking::TrackedKey {
  std::string key;
  mutable absl::btree_set<uint64_t> clients;
};

struct Tracking::Keys
    : boost::multi_index_container<
          TrackedKey, boost::multi_index::indexed_by<
                          boost::multi_index::sequenced<>,
                          boost::multi_index::hashed_unique<
                              boost::multi_index::member<TrackedKey, std::string, &TrackedKey::key>,
                              KeyedHash, std::equal_to<>>>> {
  explicit Keys(const KeyedHash& hash)
      : multi_index_container(
            boost::make_tuple(nth_index<0>::type::ctor_args(),
                              boost::make_tuple(size_t{0}, nth_index<1>::type::key_from_value(),
                                                hash, std::equal_to<>()))) {}
};

Tracking::Tracking(const Settings& settings, Clients& clients, const CurrentClient& current_client,
                   SlowPathFlags& flags, HashKeys& hash_keys)
    : settings_(settings),
      clients_(clients),
      current_client_(current_client),
      flags_(flags),
      hash_keys_(hash_keys) {}

Tracking::~Tracking() = default;

size_t Tracking::keys() const { return keys_ ? keys_->size() : 0; }

// --- turning it on and off

void Tracking::Enable(Session& session, const TrackingOptions& options,
                      const std::vector<std::string_view>& prefixes) {
  if (!session.tracks()) {
    session.rare.Make().tracking = std::make_unique<TrackingState>();
    ++tracking_clients_;
    flags_.Raise(SlowPathFlags::kCommands);
    flags_.Raise(SlowPathFlags::kKeys);
  }
  TrackingState& state = *TrackingOf(session);
  state.options = options;
  state.redirect_broken = false;
  if (!options.broadcast) return;
  const auto add = [&](std::string prefix) {
    Prefix& about = prefixes_[prefix];
    if (about.clients.insert(session.client_id).second) {
      ChargePrefix(prefix, about, session.client_id, 1);
    }
    state.prefixes.insert(std::move(prefix));
  };
  for (const std::string_view prefix : prefixes) add(std::string(prefix));
  if (prefixes.empty()) add("");
}

// Keys that the client has read stay in the table until they change; its number is then passed
// over.
void Tracking::Disable(Session& session) {
  if (!session.tracks()) return;
  for (const std::string& prefix : TrackingOf(session)->prefixes) {
    const auto place = prefixes_.find(prefix);
    ABSL_HARDENING_ASSERT(place != prefixes_.end());
    ChargePrefix(prefix, place->second, session.client_id, -1);
    place->second.clients.erase(session.client_id);
    if (place->second.clients.empty()) prefixes_.erase(place);
  }
  assert(TrackingOf(session)->prefix_bytes == 0);
  session.rare.Make().tracking.reset();
  assert(tracking_clients_ > 0);
  --tracking_clients_;
}

void Tracking::Forget(Session& session) {
  Disable(session);
  if (session.rare->tracked_bytes == 0) return;
  charged_bytes_ -= std::exchange(session.rare.Make().tracked_bytes, 0);
}

// Null when it is gone, or tracks no longer.
Session* Tracking::FindTracking(uint64_t client_id) {
  Session* const session = clients_.FindClient(client_id);
  return session && session->tracks() ? session : nullptr;
}

// --- what clients have read

bool Tracking::IsRemembering(const Session& session) {
  const TrackingState* const state = TrackingOf(session);
  if (!state || state->options.broadcast) return false;
  return !(state->options.opt_in && !state->caching) && !(state->options.opt_out && state->caching);
}

void Tracking::Remember(Session& session, Args args, std::span<const int> key_positions) {
  if (!IsRemembering(session)) return;
  for (const int position : key_positions) {
    Add(args[static_cast<size_t>(position)], session);
  }
}

// O(log clients of the key). One key above the limit costs the oldest one its place.
void Tracking::Add(std::string_view key, Session& session) {
  if (!keys_) keys_ = std::make_unique<Keys>(KeyedHash(hash_keys_.Next()));
  auto& by_key = keys_->get<1>();
  auto place = by_key.find(key);
  if (place == by_key.end()) {
    place = keys_->project<1>(keys_->push_back({std::string(key), {}}).first);
    name_bytes_ += HeapBytes(place->key);
  }
  if (place->clients.insert(session.client_id).second) {
    ++items_;
    ChargeFor(place->clients, session.client_id, BytesOf(*place), 1,
              [&](uint64_t client_id, ptrdiff_t bytes) {
                Session* const to =
                    client_id == session.client_id ? &session : clients_.FindClient(client_id);
                if (to) ChargeKey(*to, bytes);
              });
  }
  // One at a time keeps the table as it is; LimitSlice does what a lower limit asks for.
  if (over_limit()) Invalidate(keys_->front(), false);
}

bool Tracking::over_limit() const {
  const auto most = static_cast<size_t>(settings_.tracking_table_max_keys);
  return most > 0 && keys() > most;
}

bool Tracking::ForgetSome() {
  for (int i = 0; i < kKeysPerSlice && over_limit(); ++i) Invalidate(keys_->front(), false);
  return over_limit();
}

// --- memory

// O(1).
template <typename Charge>
void Tracking::ChargeFor(const absl::btree_set<uint64_t>& clients, uint64_t client_id, size_t whole,
                         ptrdiff_t sign, const Charge& charge) {
  const auto all = static_cast<ptrdiff_t>(whole);
  constexpr auto kPlace = static_cast<ptrdiff_t>(kClientBytes);
  const auto first = clients.begin();
  if (*first != client_id) return charge(client_id, sign * kPlace);
  charge(client_id, sign * all);
  if (clients.size() > 1) charge(*std::next(first), sign * (kPlace - all));
}

// A node has two links for its place in the order and two for its bucket.
size_t Tracking::BytesOf(const TrackedKey& tracked) {
  constexpr size_t kNode = BlockSize(sizeof(TrackedKey) + 4 * sizeof(void*));
  return kNode + kFirstClientBytes + HeapBytes(tracked.key);
}

void Tracking::ChargeKey(Session& session, ptrdiff_t bytes) {
  session.rare.Make().tracked_bytes += static_cast<size_t>(bytes);
  charged_bytes_ += static_cast<size_t>(bytes);
}

// The prefix stands in the client's own list too.
void Tracking::ChargePrefix(const std::string& prefix, const Prefix& about, uint64_t client_id,
                            ptrdiff_t sign) {
  const size_t name = HeapBytes(prefix);
  const size_t whole =
      TreeItemBytes(sizeof(decltype(prefixes_)::value_type)) + name + kFirstClientBytes;
  const auto own = static_cast<ptrdiff_t>(TreeItemBytes(sizeof(std::string)) + name);
  ChargeFor(about.clients, client_id, whole, sign, [&](uint64_t to, ptrdiff_t bytes) {
    const bool is_own = to == client_id;
    TrackingOf(*clients_.FindClient(to))->prefix_bytes +=
        static_cast<size_t>(bytes + (is_own ? sign * own : 0));
  });
}

size_t Tracking::MemoryBytes() const {
  if (!keys_) return 0;
  constexpr size_t kNode = BlockSize(sizeof(TrackedKey) + 4 * sizeof(void*));
  const size_t all = sizeof(Keys) + AllocatedSize(keys_->get<1>().bucket_count() * sizeof(void*)) +
                     name_bytes_ + keys() * (kNode + kFirstClientBytes) +
                     (items_ - keys()) * kClientBytes;
  return all - charged_bytes_;
}

std::string Tracking::Audit() const {
  size_t items = 0;
  if (keys_) {
    for (const TrackedKey& tracked : *keys_) {
      if (tracked.clients.empty()) return "a key is tracked for no client";
      items += tracked.clients.size();
    }
  }
  if (items != items_) return "the clients of tracked keys are miscounted";
  for (const auto& [prefix, about] : prefixes_) {
    if (about.clients.empty()) return "a prefix is tracked for no client";
    if (about.changed.empty() == changed_prefixes_.contains(prefix))
      return "a prefix is listed as changed without a change, or the other way round";
  }
  return "";
}

// --- changes

// The last prefix that is sorted before a text is its longest one, or tells how long any can be.
template <typename Visit>
void Tracking::ForEachPrefixOf(std::string_view key, const Visit& visit) {
  while (true) {
    auto place = prefixes_.upper_bound(absl::string_view(key.data(), key.size()));
    if (place == prefixes_.begin()) return;
    --place;
    const std::string& prefix = place->first;
    if (key.starts_with(prefix)) {
      visit(prefix, place->second);
      if (prefix.empty()) return;
      key = key.substr(0, prefix.size() - 1);
    } else {
      const auto differing = std::ranges::mismatch(key, prefix).in1;
      key = key.substr(0, static_cast<size_t>(differing - key.begin()));
    }
  }
}

// Broadcasting first, then the table. The table's key is forgotten: a client is told once, until it
// reads the key again.
void Tracking::KeyTouched(int, std::string_view key, bool died) {
  // A script's changes are told even to NOLOOP's client, whose own commands do not name them all.
  const bool by_nobody = died || current_client_.script_runs();
  const Session* const by = by_nobody ? nullptr : current_client_.current();
  ForEachPrefixOf(key, [&](const std::string& prefix, Prefix& about) {
    about.changed[std::string(key)] = by ? by->client_id : 0;
    changed_prefixes_.insert(prefix);
  });
  if (!keys_) return;
  const auto& by_key = keys_->get<1>();
  const auto place = by_key.find(key);
  if (place != by_key.end()) Invalidate(*place, true);
}

void Tracking::Invalidate(const TrackedKey& tracked, bool by_client) {
  const std::string payload = ListOf(tracked.key);
  size_t share = BytesOf(tracked);  // of the oldest
  for (const uint64_t client_id : tracked.clients) {
    Session* const session = clients_.FindClient(client_id);
    const size_t charged = std::exchange(share, kClientBytes);
    if (!session) continue;
    ChargeKey(*session, -static_cast<ptrdiff_t>(charged));
    if (!session->tracks() || TrackingOf(*session)->options.broadcast) continue;
    const bool own = by_client && session == current_client_.current();
    if (!own || !TrackingOf(*session)->options.no_loop) Tell(*session, payload);
  }
  assert(items_ >= tracked.clients.size());
  items_ -= tracked.clients.size();
  name_bytes_ -= HeapBytes(tracked.key);
  keys_->erase(keys_->iterator_to(tracked));
}

void Tracking::AllFlushed() {
  if (tracking_clients_ > 0) {
    clients_.ForEach([this](Session& session) {
      if (session.tracks()) Tell(session, std::string(kAllKeys));
    });
  }
  if (charged_bytes_ > 0) {
    clients_.ForEach([](Session& session) {
      if (session.rare->tracked_bytes > 0) session.rare.Make().tracked_bytes = 0;
    });
  }
  keys_.reset();
  items_ = name_bytes_ = charged_bytes_ = 0;
}

void Tracking::TellPrefixes() {
  for (const std::string& prefix : std::exchange(changed_prefixes_, {})) {
    const auto place = prefixes_.find(prefix);
    if (place == prefixes_.end()) continue;  // no client asks for it any more
    Prefix& about = place->second;
    for (const uint64_t client_id : about.clients) {
      Session* const session = FindTracking(client_id);
      if (!session) continue;
      size_t told = 0;
      std::string keys;
      for (const auto& [key, by] : about.changed) {
        if (TrackingOf(*session)->options.no_loop && by == client_id) continue;
        AddBulk(keys, key);
        ++told;
      }
      if (told > 0) Send(*session, Concat('*', told, "\r\n", keys));
    }
    about.changed.clear();
  }
}

// --- telling

// A client whose command runs is told behind its reply, so the message waits. Waiting messages are
// bounded by the client's output limit.
void Tracking::Tell(Session& session, std::string payload) {
  if (current_client_.IsExecuting(session)) {
    const uint64_t limit = OutputBound(clients_.OutputLimitOf(session).hard_bytes);
    if (limit > 0 && pending_bytes_ > limit) {
      clients_.CloseOverOutputLimit(session);
      return clients_.QueueSend(session);
    }
    pending_bytes_ += sizeof(Pending) + payload.size();
    pending_.push_back({session.client_id, std::move(payload)});
    flags_.Raise(SlowPathFlags::kPending);
  } else {
    Send(session, payload);
  }
}

void Tracking::CommandDone(Session& session) {
  TrackingState* const state = TrackingOf(session);
  // CLIENT CACHING reaches over other calls of CLIENT and over a whole transaction.
  if (state && !session.keeps_caching && !session.in_multi()) state->caching = false;
  if (!pending_.empty()) SendPending(session);
}

// A slow script's changes stay while others' commands run inside it.
void Tracking::SendPending(Session& session) {
  const auto own = std::stable_partition(
      pending_.begin(), pending_.end(),
      [&](const Pending& pending) { return pending.client_id != session.client_id; });
  std::vector<Pending> told(std::make_move_iterator(own), std::make_move_iterator(pending_.end()));
  pending_.erase(own, pending_.end());
  if (pending_.empty()) flags_.Lower(SlowPathFlags::kPending);
  for (const Pending& pending : told) {
    pending_bytes_ -= sizeof(Pending) + pending.payload.size();
    Send(session, pending.payload);
  }
}

// RESP3 gets a push. RESP2 cannot, so a message goes to the client named by REDIRECT, on the
// channel __redis__:invalidate, if that one subscribes.
void Tracking::Send(Session& session, std::string_view payload) {
  if (payload == kAllKeys) payload = session.resp() == 2 ? "$-1\r\n" : "_\r\n";
  const uint64_t redirect = session.tracks() ? TrackingOf(session)->options.redirect : 0;
  Session* to = &session;
  if (redirect != 0) {
    to = clients_.FindClient(redirect);
    if (!to || to->close == CloseMode::kNow) {
      TrackingOf(session)->redirect_broken = true;
      if (session.resp() == 2) return;
      const std::string id = Concat(redirect);
      return clients_.Push(session, {">2\r\n$21\r\ntracking-redir-broken\r\n:", id, "\r\n"});
    }
  }
  if (to->resp() == 3) {
    clients_.Push(*to, {">2\r\n$10\r\ninvalidate\r\n", payload});
  } else if (redirect != 0 && to->subscribes()) {
    clients_.Push(*to, {"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n", payload});
  }
}

}  // namespace sluice
