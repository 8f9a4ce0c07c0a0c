// TurnGate: numbers the turns that changed something, and is the one place that decides when
// answers may leave.
//
// What is written about a turn goes to readers of different kinds, each with positions of its own:
// bytes of the log, offsets of a stream. A promise (TurnPromise) maps these to turns, and tells up
// to which turn it is kept: so far the log is on disk; so far enough replicas have it; so far this
// server was known to lead. An answer waits for the number of the last turn that it may show, and
// leaves when every promise that is on has reached that. So no answer shows, or acknowledges, what
// can still be lost.
//
//   promise A   1 2 3 4 5|6 7        kept() == 5
//   promise B   1 2 3|4 5 6 7        kept() == 3: answers of turn 4 and later wait
//
// A promise that fails closes the clients whose answers waited for it, unanswered. While it cannot
// be kept, turns that changed nothing promise nothing: reads go on, and wait for the others alone.
// Who answers in a turn that it has failed is closed.
//
// Without a promise there is no gate: every answer leaves with its turn, and no turn is numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/clients/clients.h"
#include "server/core/lazy_deque.h"
#include "server/core/turn_needs.h"

namespace sluice {

// Something that has to come true of a turn before its answers leave. When it has got further it
// calls TurnGate::Release, when it cannot get on TurnGate::Fail.
class TurnPromise {
 public:
  virtual ~TurnPromise() = default;
  // A turn is about to be numbered: what it has changed so far is to be known, by each promise
  // before any of them is asked for news.
  virtual void Gather() {}
  // There is something to keep that has no turn yet: of whole groups of effects.
  virtual bool HasNews() const = 0;
  // The turn has ended, and its news are what this turn has changed. Returns whether the promise
  // has anything to keep of it: with news, or always where it is of every turn (that this server
  // leads). Without, it is kept as soon as the turns before it are. `needs`: what the turn is to
  // have beyond the options, of which each promise looks at its own. Must not add or remove one.
  virtual bool EndTurn(uint64_t turn, const TurnNeeds& needs) = 0;
  // Every turn up to this one is kept. Only a doubt about what seemed kept takes it back.
  virtual uint64_t kept() const = 0;
  // Whether answers to this client wait for it.
  virtual bool Binds(const Session&) const { return true; }
  // It cannot be kept now, and nobody knows when it can be again.
  virtual bool has_failed() const = 0;
};

class TurnGate final : public OutputGate {
 public:
  // What holds of no turn. The state before the first turn that is numbered counts as one.
  static constexpr uint64_t kNoTurn = 0;

  explicit TurnGate(Clients& clients) : clients_(clients) {}

  // --- promises: each is there from Add to Remove, at any time between two turns or in a command
  // From now on answers wait for it. It counts the turns up to last() as kept.
  void Add(TurnPromise& promise);
  // Answers wait for the others alone. Requires: it was added.
  void Remove(TurnPromise& promise);
  bool is_on() const { return !promises_.empty(); }
  // A promise has got further, or asks for less: what waited for that leaves.
  void Release();
  // It cannot be kept: closes the clients whose answers wait for more than its kept().
  void Fail(const TurnPromise& promise);

  // --- turns
  // The turn is over, or one inside of it: if it has changed something it gets its number. Before
  // outputs are sent.
  void EndTurn() {
    if (is_on()) [[unlikely]]
      EndNumberedTurn();
  }
  // Each promise knows what the turn has changed so far: for those who write it down elsewhere.
  void Gather() const;
  // What the turn has changed so far gets a number now, for it has to be written before the end.
  void NumberSoFar();
  uint64_t last() const { return last_; }
  // The number that this turn has, or will have, if it ends without changing anything more.
  uint64_t so_far() const { return last_ + (HasNews() ? 1 : 0); }
  // What this turn is to have beyond the options: parts add to it as they change something.
  TurnNeeds& needs() { return needs_; }
  // Something that was changed in a turn after `turn` is not kept, and its promise has failed.
  bool IsAnyLost(uint64_t turn) const;

  size_t held() const { return held_.size(); }  // answers that wait

  // --- answers that tell of a grant (kTellsOfGrant)
  // They are not kept: closes the clients that wait, unanswered. Answers that they hold up leave
  // with the next Release.
  void AbandonGrants();
  // From now on no such answer leaves: who has one is closed at the end of the turn.
  void set_refuses_grants(bool refuses) { refuses_grants_ = refuses; }

  // --- OutputGate
  void TurnEnded(Session& session) override;

 private:
  struct Watched {
    TurnPromise* promise;
    uint64_t news = kNoTurn;  // the last turn of which it has anything to keep
  };
  // An output that waits for its turn to be kept.
  struct Held {
    SessionId id;
    uint64_t turn;
    uint64_t appended;  // of the output: what may leave then
    bool tells_of_grant;
  };

  bool HasNews() const;
  uint64_t Reached(const Session* session = nullptr) const;
  void EndNumberedTurn();
  void Abandon(Session& session);

  Clients& clients_;
  std::vector<Watched> promises_;
  TurnNeeds needs_;
  uint64_t last_ = kNoTurn + 1;
  uint64_t ended_ = last_;   // at the end of this turn, or of the last one
  uint64_t before_ = last_;  // and of the one before that
  LazyDeque<Held> held_;     // by turn
  bool refuses_grants_ = false;
};

}  // namespace sluice
