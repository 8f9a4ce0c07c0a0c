// Client-side caching (CLIENT TRACKING): the server remembers which keys a client has read, or
// which prefixes it has asked for, and tells it once when one of them changes.
//
// Default mode: one table of keys, each with the clients that have read it. A change tells them all
// and forgets the key. Its size is bounded by tracking-table-max-keys: the oldest key is given up,
// and its clients are told that it has changed. Broadcasting mode: no memory of keys; the changes
// of a turn are gathered for each prefix and told at its end. As in Redis, names of keys go without
// their database, and a client that is gone leaves its number in the table until the key changes.
//
// A client is told of what its own command changed behind that command's reply, of a command that
// has waited too.
//
//   > CLIENT TRACKING ON
//   > GET user:7                        the key is remembered, with this client
//   < invalidate ["user:7"]             a push: another client has changed it, and it is forgotten
//   > CLIENT TRACKING ON BCAST PREFIX user:
//   < invalidate ["user:8", "user:9"]   all that changed in one turn
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "protocol/args.h"
#include "server/clients/clients.h"
#include "server/clients/current_client.h"
#include "server/core/slow_path_flags.h"
#include "server/notify/key_listeners.h"
#include "storage/hashing/key_hash.h"
#include "storage/memory/block_size.h"

namespace sluice {

// The words of CLIENT TRACKING ON; OPTIN and OPTOUT exclude each other.
struct TrackingOptions {
  uint64_t redirect = 0;  // CLIENT ID of the client told instead; 0: the client itself
  bool broadcast = false;
  bool opt_in = false;
  bool opt_out = false;
  bool no_loop = false;  // not of what it changes itself
};

// One session's tracking.
struct TrackingState final : SessionState {
  TrackingOptions options;
  absl::btree_set<std::string> prefixes;  // broadcasting
  size_t prefix_bytes = 0;                // of these, and of what Tracking keeps of them
  bool redirect_broken = false;
  bool caching = false;  // CLIENT CACHING was just called: it is about the next command

  size_t MemoryBytes() const override { return BlockSize(sizeof(*this)) + prefix_bytes; }
};

// Null while it is off.
inline TrackingState* TrackingOf(const Session& session) {
  return static_cast<TrackingState*>(session.rare->tracking.get());
}

class Tracking final : public KeyListener {
 public:
  Tracking(const Settings& settings, Clients& clients, const CurrentClient& current_client,
           SlowPathFlags& flags, HashKeys& hash_keys);
  ~Tracking() override;

  // Replaces the options, and adds `prefixes` to those it had; without any in broadcasting mode:
  // all keys, as the empty prefix.
  void Enable(Session& session, const TrackingOptions& options,
              const std::vector<std::string_view>& prefixes);
  void Disable(Session& session);
  // The session ends. Keys that it has read stay until they change, as nobody's.
  void Forget(Session& session);

  bool listens() const override { return tracking_clients_ > 0 || keys() > 0; }
  void KeyTouched(int db, std::string_view key, bool died) override;
  // A flush: each client gets one null instead of a list. O(clients + keys).
  void AllFlushed();
  // `session`, which tracks, has read the keys at these positions of a request. A repeated key
  // costs a look-up and nothing else.
  void Remember(Session& session, Args args, std::span<const int> key_positions);
  // Whether it is to remember what it reads now: with OPTIN after CLIENT CACHING YES alone, with
  // OPTOUT unless CACHING NO was just said.
  static bool IsRemembering(const Session& session);
  // Behind the reply to a top-level command of a session that tracks, or while
  // SlowPathFlags::kPending is raised.
  void CommandDone(Session& session);
  // Gives up some of the keys that are above tracking-table-max-keys; true when more are.
  bool LimitSlice() { return keys_ && over_limit() && ForgetSome(); }
  // At the end of a turn: broadcasting clients are told, once for each of their prefixes.
  // O(prefixes that changed * their clients * keys).
  void Broadcast() {
    if (!changed_prefixes_.empty()) [[unlikely]]
      TellPrefixes();
  }

  // For INFO.
  size_t clients() const { return tracking_clients_; }
  size_t keys() const;
  size_t items() const { return items_; }
  size_t prefixes() const { return prefixes_.size(); }
  // Memory that no client is charged with: keys of clients that are gone, and the tables that find
  // keys. Exact for keys that one client has read; about that for others.
  size_t MemoryBytes() const;

  // A running command has something to tell its own client.
  bool any_pending() const { return !pending_.empty(); }
  std::string Audit() const;  // the first violated invariant as a sentence, or empty

 private:
  struct TrackedKey;
  struct Keys;  // all of them, in the order in which they were first read, and by name
  // Never without clients; `changed` is emptied at the end of the turn.
  struct Prefix {
    absl::btree_set<uint64_t> clients;
    absl::btree_map<std::string, uint64_t> changed;  // by which client last; 0: by none
  };

  // Keys that a running command has changed and its own client has read: told when it is over, be
  // it that tracking was turned off meanwhile.
  struct Pending {
    uint64_t client_id;
    std::string payload;
  };

  // A key, or a prefix, is paid for by its oldest client; each of the others pays for its place
  // there. ChargeFor is told of a client that has come, or (sign -1) is about to go.
  template <typename Charge>
  static void ChargeFor(const absl::btree_set<uint64_t>& clients, uint64_t client_id, size_t whole,
                        ptrdiff_t sign, const Charge& charge);
  static size_t BytesOf(const TrackedKey& tracked);
  void ChargeKey(Session& session, ptrdiff_t bytes);
  void ChargePrefix(const std::string& prefix, const Prefix& about, uint64_t client_id,
                    ptrdiff_t sign);

  bool over_limit() const;
  bool ForgetSome();
  void TellPrefixes();
  void Add(std::string_view key, Session& session);
  // Calls `visit(prefix, about)` for each that the key begins with, the longest first.
  template <typename Visit>
  void ForEachPrefixOf(std::string_view key, const Visit& visit);
  // Tells all clients that have read the key and forgets it: `tracked` is gone afterwards.
  // `by_client`: it was really changed, and the client that changed it may not want to hear of it.
  void Invalidate(const TrackedKey& tracked, bool by_client);
  void Tell(Session& session, std::string payload);
  void SendPending(Session& session);
  void Send(Session& session, std::string_view payload);
  Session* FindTracking(uint64_t client_id);

  const Settings& settings_;
  Clients& clients_;
  const CurrentClient& current_client_;
  SlowPathFlags& flags_;
  size_t tracking_clients_ = 0;
  HashKeys& hash_keys_;
  std::unique_ptr<Keys> keys_;  // made for the first
  size_t items_ = 0;            // clients over all keys
  size_t name_bytes_ = 0;       // of all keys, beside their nodes
  size_t charged_bytes_ = 0;    // Session::tracked_bytes of all sessions
  absl::btree_map<std::string, Prefix> prefixes_;
  absl::btree_set<std::string> changed_prefixes_;  // in this turn
  std::vector<Pending> pending_;
  size_t pending_bytes_ = 0;
};

}  // namespace sluice
