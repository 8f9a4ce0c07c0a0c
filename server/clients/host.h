// Host: what the server needs from the program that runs it: a way to send, to stop, to log, to
// wait. Sockets, a host program, a fuzzer and a simulator implement it.
//
// All of it is called on the engine's thread. Send, Closed, Poll, Shutdown, Sleep and Log have to
// be there; the rest has a default that does nothing, or runs work at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "server/clients/session.h"
#include "server/core/log_level.h"

namespace sluice {

class SparsePages;

// What the process has used so far, for INFO.
struct ProcessUsage {
  int64_t resident_bytes = 0;
  int64_t resident_peak_bytes = 0;
  int64_t user_us = 0;  // CPU time of the whole process
  int64_t system_us = 0;
  int64_t thread_user_us = 0;  // and of the thread that runs the engine
  int64_t thread_system_us = 0;
};

// What the allocator has, for MEMORY; zeros where it does not tell.
struct AllocatorUsage {
  int64_t allocated_bytes = 0;  // in use
  int64_t active_bytes = 0;     // in pages that hold something in use
  int64_t resident_bytes = 0;   // taken from the system and not given back
};

// What runs beside the engine, by what it is for. Each has an order of its own, and a thread where
// the host has any: a snapshot's long sync keeps no answer from a client.
enum class WorkerLane : uint8_t {
  kLog,       // the log, and the fence mark: clients wait for it
  kSnapshot,  // snapshots and bases of the log
};
inline constexpr size_t kWorkerLanes = 2;

// What the process gives to all engines in it.
class ProcessHost {
 public:
  virtual ~ProcessHost() = default;
  // Runs `work` beside the engine, behind all of its lane: on another thread, if the host has one.
  // Then `done`: at once, between two turns, or as said below. Returns a number for
  // AwaitBackground.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): hosts with workers keep both.
  virtual uint64_t RunInBackground(WorkerLane lane, std::function<void()> work,
                                   std::function<void()> done) {
    static_cast<void>(lane);
    work();
    done();
    return 0;
  }
  // Waits for this one, whose `done` runs here; that of others waits for the turn's end.
  virtual void AwaitBackground(uint64_t number) { static_cast<void>(number); }
  // Waits for all of it.
  virtual void FinishBackground() {}
  // Of a test double: calls it once, between two turns, when so much real time has passed.
  virtual void CallAfter(int64_t real_ms, std::function<void()> call) {
    static_cast<void>(real_ms), static_cast<void>(call);
  }
  // True between Shutdown and the end: long work gives up.
  virtual bool Stopping() const { return false; }
  // From the system, and never from the seed: for passwords.
  virtual void FillWithRandom(std::span<uint8_t> bytes) = 0;
  // DEBUG SLEEP: really do nothing for so long.
  virtual void Sleep(int64_t micros) = 0;
  virtual void Log(LogLevel level, std::string_view line) = 0;
  virtual ProcessUsage Usage() { return {}; }
  virtual AllocatorUsage Allocator() { return {}; }
  // MEMORY PURGE: what is free goes back to the system.
  virtual void ReleaseMemory() {}
  // Adds all pages of the allocator's that the engine's blocks can lie on; O(pages). False: the
  // allocator does not tell.
  virtual bool SurveyPages(SparsePages& pages) { return static_cast<void>(pages), false; }
  // While on, memory goes back to the system as it comes free. An allocator that saves it up gives
  // much back at once later, in the midst of a turn.
  virtual void ReturnFreedAtOnce(bool on) { static_cast<void>(on); }
  virtual std::string AllocatorReport() { return {}; }  // MEMORY MALLOC-STATS; empty: it has none
};

class Host : public ProcessHost {
 public:
  // At the end of a turn, once a session with output: send what can be sent and Consume it. Must
  // not call back into the engine.
  virtual void Send(Session& session) = 0;
  // The engine has given the session up (after Send): close its connection. The session is gone.
  virtual void Closed(SessionId id) = 0;
  // Called from inside long work: serve the other sessions (they get -BUSY or -LOADING). Re-entrant
  // turns are the engine's care.
  virtual void Poll() = 0;
  // From now on a peer that does not answer for so long, without a word from it meanwhile, counts
  // as gone: Drop is to be called; 0: it is watched no more. Where peers cannot vanish unseen there
  // is nothing to do.
  virtual void WatchPeer(Session& session, int64_t timeout_ms) {
    static_cast<void>(session), static_cast<void>(timeout_ms);
  }
  // Stop the process or the loop; the exit code.
  virtual void Shutdown(int code) = 0;
};

}  // namespace sluice
