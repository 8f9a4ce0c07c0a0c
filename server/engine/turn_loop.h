// TurnLoop: a turn of the engine. Requests that came in run in batches, due timers fire, answers
// are handed to the host; and the turns inside a turn that serve others while a script is slow.
//
// Each step has a bound of its own: 400 µs of requests, 256 timers, 200 µs of freeing, slices of
// the rest. RunTurn tells whether anything is left over: then the host comes again at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/args.h"
#include "server/clients/session.h"
#include "server/core/request_outcome.h"
#include "server/dispatch/command.h"
#include "server/engine/batch.h"

namespace sluice {

struct Assembly;
struct Input;

class TurnLoop {
 public:
  explicit TurnLoop(Assembly& parts);

  // As Engine's methods of these names.
  void Receive(Session& session, std::string_view bytes);
  std::span<char> RoomFor(Session& session);
  void ReceiveInPlace(Session& session, size_t bytes);
  bool RunTurn();
  std::optional<RequestOutcome> RunNow(SessionId id, Args args);
  Session* DirectSession(SessionId id);
  bool has_left_over() const;
  int64_t NextWork() const;
  void Sent(SessionId id);

  // The turn inside the turn: see Yielder.
  void Yield(Session& caller);

 private:
  // --- what was received
  // Sessions with unfinished business in `pending` take part in this turn, before new connections.
  void TakeRequeued();
  void RunInputs(int64_t turn_begin);
  void RunBatch();
  bool RunRequest(Session& session, const Batch::Request& request);
  bool PlayRequest(Session& session, const Batch::Request& request);
  RequestOutcome Execute(Session& session, Args args, const Command* command, const HashedKey& key);
  void KeepReceived(Session& session);
  bool IsTakenByLink(Session& session);
  void KeepRest(Input& input);
  void CountReceived(Session& session, size_t bytes);
  void ProtocolError(Session& session);

  // --- RunNow's
  // Does work that is due. Work that a command leaves to be done at once is found by has_left_over.
  void PassMoment();

  // --- turns inside a command (turn_inside.cc)
  bool RunNestedTurn();
  void SetAside(Session& caller);

  // --- the steps beside requests
  bool RunTimers();
  bool FireTimers(int64_t now_ms);
  bool PassTime(int64_t turn_begin);
  bool SettleMoment(int64_t turn_begin);
  void ServeWaiters();
  bool AnyToServe() const;
  bool FreeGarbage(int64_t turn_begin);
  void BeginMemory();
  void EvictClients();
  void NumberTurn();
  void EndTurn(int64_t begin);
  void CloseAll();

  Assembly& on_;
  Batch batch_;
  // RunNow's: the commands that it ran last, and when it looked for work that is due.
  CommandMemo<2> names_;
  int64_t looked_for_work_ms_ = -1;
  bool crowded_ = false;  // the last turn has left some of a crowd: to be freed, or to be settled
  uint64_t handed_over_ = 0;  // waits for locks whose latency has been counted
  uint64_t timers_fired_ = 0;
  int64_t cpu_us_ = 0;  // of the thread, when it was last read
  int64_t cpu_read_tick_ = 0;
};

}  // namespace sluice
