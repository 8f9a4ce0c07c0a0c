// Waiters: who waits for keys: BLPOP, BZPOPMIN, XREAD ... A handler that finds nothing blocks its
// client (blocked_clients.h):
//
//   void Blpop(CommandCall& call) {
//     ... read the arguments, errors are answered before anything else ...
//     for (key : call.woken ? the one that is call.woken_key : all keys of the request) {
//       ... answer and return if there is an element ...
//     }
//     Block(call, keys, {.deadline_ms = deadline_ms, .type = ValueType::kList});
//   }
//
// The request is kept. Whenever a key that has waiters is touched, it is noted; after
// the current top-level command (EXEC and a script are one) the waiters of the noted keys are
// served, keys in the order in which they were noted, waiters of a key in the order in which they
// came: their handler runs again with call.woken set and call.woken_key the key that made it run.
// As in Redis it must look at that key alone, even if another of its keys, named before it, has
// something by now. It either answers, and the wait is over, or it calls Block again, with
// anything, and stays in its place on its old terms (keys, deadline, the rest): then it must have
// changed nothing. A handler that serves may touch keys (BLMOVE): these are noted, and served after
// those noted before, until none is left.
//
// A waiter is run only while the key holds a value of BlockTerms::type, and with `when_gone`
// (XREADGROUP) also when it was touched and holds no such value, or when the moment
// BlockTerms::look_again_ms has come, as if its keys were touched then. So a woken handler never
// has to think of WRONGTYPE of woken_key, and a thousand clients that wait for one element cost one
// run and not a thousand. Nor do they cost a walk past them where the key holds another type:
// waiters of a key stand apart by what they wait for. Nor where a stream changes and gets no entry.
// A key that is waited for by its name stays so over SWAPDB and FLUSHDB: what then is there counts.
//
// A wake-up is no new call of the command for INFO commandstats, but its time counts. The effects
// of a woken handler are recorded as always: say ReplaceWith() what was done (LPOP for BLPOP).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "boost/container/flat_map.hpp"
#include "server/notify/key_listeners.h"
#include "server/waiting/blocked_clients.h"
#include "storage/hashing/key_name.h"
#include "storage/memory/block_size.h"
#include "storage/memory/heap_bytes.h"
#include "storage/types/streams/stream_id.h"

namespace sluice {

class Waiters final : public WaitOwner, public KeyListener {
 public:
  // The parts that they work with; all of them outlive the waiters.
  struct Uses {
    BlockedClients& blocked_clients;
    Clients& clients;
    Keyspace& keyspace;
    const TurnClock& clock;
    SlowPathFlags& flags;
  };
  Waiters(const Uses& uses, HashKeys& hash_keys);

  // All that wait, for keys or for something else.
  BlockedClients& blocked_clients() { return on_.blocked_clients; }
  // Blocks the call's client until one of the keys is as `blocking` says; the client that waits
  // longest is served first. O(keys * log waiters).
  void Block(CommandCall& call, std::span<const std::string_view> keys, BlockTerms blocking);

  // --- for the engine
  bool listens() const override { return !lines_.empty(); }
  void KeyTouched(int db, std::string_view key, bool died) override;
  void DatabaseReplaced(int db, int other) override;
  bool any_ready() const { return !ready_.empty(); }
  // Serves the waiters of noted keys. Between top-level commands only.
  void ServeReady();
  void WaitCancelled(uint64_t arrival, WaitEnd) override { Forget(arrival); }
  void LookAgain(uint64_t arrival) override;

  std::string Audit() const;  // the first violated invariant as a sentence, or empty
  size_t keys() const { return lines_.size(); }
  // Memory that no client is charged with: slots that are free.
  size_t MemoryBytes() const { return TableBytes(lines_) - lines_.size() * kLineSlot; }

 private:
  struct Wait {
    uint64_t arrival;
    SessionId session;
    std::vector<KeyName> keys;  // each once
    ValueType type;
    bool when_gone;
  };
  // The waiters of one key: those who are run whatever has become of it, and those who wait for a
  // value of one type. Each by arrival.
  using Row = std::map<uint64_t, const Wait*>;
  struct Line {
    Row& RowOf(const Wait& wait) { return wait.when_gone ? when_gone : of_type[wait.type]; }
    bool empty() const { return when_gone.empty() && of_type.empty(); }
    const Wait* First() const;  // who came first; requires: not empty

    Row when_gone;
    boost::container::flat_map<ValueType, Row> of_type;  // none is empty
    // No client that reads a stream here wants an entry up to this one.
    StreamId read_up_to;
    bool noted = false;  // is in ready_
  };

  static constexpr size_t kLineSlot = SlotBytes(sizeof(KeyNameMap<Line>::value_type));
  static constexpr size_t kTypeRow = BlockSize(sizeof(std::pair<ValueType, Row>));
  static size_t BytesOf(const Wait& wait);
  // A line is paid for by the first who stands in it, with BlockedCall::kept_bytes.
  void ChargeFirst(const KeyName& name, const Line& line);
  void Note(const KeyName& name, Line& line);
  void ServeKey(const KeyName& name);
  void Forget(uint64_t arrival);
  StreamId LastOf(const KeyName& name) const;
  const Wait* NextOf(const KeyName& name, const Line& line, uint64_t served) const;
  const Entry* Find(const KeyName& name) const;

  const Uses on_;
  std::map<uint64_t, Wait> waits_;  // by arrival, which is the number of the wait
  KeyNameMap<Line> lines_;          // none is empty
  std::vector<KeyName> ready_;
  bool serving_ = false;
  uint64_t arrivals_ = 0;
};

// Instead of an answer: the client waits, for keys or for whatever `blocking` says.
void Block(CommandCall& call, std::span<const std::string_view> keys, const BlockTerms& blocking);

}  // namespace sluice
