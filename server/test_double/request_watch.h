// RequestWatch: makes the faults of a test double happen (faults.h), and keeps its journal
// (journal.h). It sees every request of a client once, as the client sends it, and its answer when
// that comes:
//
//   BEFORE  the request is not run: refused, swallowed, or held back in its session (DELAY, HANG)
//   AFTER   it runs; its answer is what stands in the output behind the position at which it began.
//           That is cut off, replaced, or held in the output (DELAY, HANG, SPLIT)
//
// Meanwhile the session is paused: its next requests wait, so that one session has one request on
// its way. Bytes are held by OutputBuffer::HoldFrom, beside what the log holds, so that nothing
// leaves which the log has not let go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/dispatch/request_hook.h"
#include "server/test_double/faults.h"
#include "server/test_double/journal.h"
#include "storage/time/timer_task.h"

namespace sluice {

class Clients;
class CommandTable;
class Host;
class LockService;
class SlowPathFlags;
class TurnClock;

class RequestWatch final : public RequestHook {
 public:
  // How far FAILOVER has tokens jump: as a new master's would, past all that the old one may have
  // given, and well inside what is reserved on disk.
  static constexpr int64_t kTokenJump = 1'000'000;

  // The parts that it works with; all of them outlive it.
  struct Uses {
    Host& host;
    Clients& clients;
    const CommandTable& commands;
    const TurnClock& clock;
    TimerTasks& timers;
    LockService& locks;
    Random& random;
    SlowPathFlags& flags;
  };
  explicit RequestWatch(const Uses& uses) : on_(uses), faults_(uses.commands, uses.random) {}
  ~RequestWatch() override;

  // --- for handlers
  const Faults& faults() const { return faults_; }
  // As Faults::Add.
  uint64_t AddFault(uint64_t client, Args words, std::string& fault);
  // The requests that a rule holds back go on when it goes.
  bool DeleteFault(uint64_t id);
  size_t ClearFaults();
  const Journal& journal() const { return journal_; }
  void StartJournal(size_t entries_max);
  void StopJournal();
  void ClearJournal() { journal_.Clear(); }
  // As after the start: no rules, and an empty journal that does not record.
  void Reset();

  // --- for the engine
  void Forget(const Session& session);  // its connection is gone
  // SPLIT, once a turn: the next byte of each session may leave, unless the one before has not (its
  // client does not read, or the log is not written).
  void BeginTurn();
  // A byte waits that may leave in the next turn.
  bool any_to_send() const;

  // --- RequestHook
  Ruling Arrived(Session& session, const Arrival& arrival) override;
  Refusal RefusalOf(const Session& session) override;
  void HeldBack(Session& session) override;
  void Ran(Session& session, const RequestHook::Done& done) override;
  void Answering(Session& session) override;
  void Answered(Session& session) override;

 private:
  enum class Stage : uint8_t {
    kRuns,    // or waits in a queue of its command's
    kBefore,  // held back, not run
    kMayRun,  // was held back: is to be run when it is shown again
    kAfter,   // its answer is held
    kSplit,   // its answer leaves byte by byte
  };
  struct Request : TimerTask {
    Request(RequestWatch& all, const Session& session) : whose(all), session(session.id) {}
    RequestWatch& whose;
    const SessionId session;
    const uint64_t number = ++whose.last_number_;
    Stage stage = Stage::kRuns;
    uint64_t fault = 0;  // the rule that has hit it; 0: none
    FaultAction action;  // the rule may be gone when the answer comes
    Refusal refusal;
    uint64_t from = 0;   // of the output: where its answer begins; kSplit: what is left of it
    uint64_t until = 0;  // kSplit: where it ends
    uint64_t entry = 0;  // of the journal; 0: none
  };

  Request* Find(const Session& session);
  void Finish(const Session& session);
  Request& Make(const Session& session);
  Ruling Before(Session& session, Request& request);
  void After(Session& session, Request& request);
  bool Change(Session& session, Request& request, size_t& bytes);
  void HoldAnswer(Session& session, Request& request);
  void SetTimer(Request& request);
  void Release(Request& request);
  void RuleIsGone(Request& request);
  void FailOver(uint64_t rule);
  void Watch();

  const Uses on_;
  Faults faults_;
  Journal journal_;
  uint64_t last_number_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Request>> requests_;  // by client id
  std::vector<SessionId> splits_;
  // Lives as long as this: who calls later looks.
  std::shared_ptr<RequestWatch*> self_ = std::make_shared<RequestWatch*>(this);
};

}  // namespace sluice
