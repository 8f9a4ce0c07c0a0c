// RequestHook: sees each request of a client when it comes, before all gates, and its answer when
// that stands in the client's output. So a test double makes faults and keeps a journal. Commands
// inside a request (EXEC's queue, a script's calls, FENCED's command) are not shown.
//
//   Arrived ── kRun ──▶ it runs ──▶ Ran ── it waits (Session::blocked) ──▶ Answering ─▶ Answered
//           └─ kHeld: shown again when its session goes on
//
// It is asked only while SlowPathFlags::kHooked is raised.
#pragma once

#include <span>
#include <string>

#include "protocol/args.h"
#include "server/clients/session.h"

namespace sluice {

struct Command;
class Request;

class RequestHook {
 public:
  enum class Ruling : uint8_t {
    kRun,
    kHeld,     // not now: the session is paused, and the hook resumes it
    kRefused,  // not run; refusal() is the answer
    kSilent,   // not run, and not answered
  };
  // The answer to a request that is refused.
  struct Refusal {
    std::string text;
    bool as_given = true;  // else EXEC's is told as Redis tells it: EXECABORT
  };

  virtual ~RequestHook() = default;
  // A request as a client has sent it.
  struct Arrival {
    Args words;
    const Command* command = nullptr;  // the row; null when there is none of that name
    const Request* request = nullptr;  // null: the words are none
  };
  virtual Ruling Arrived(Session& session, const Arrival& arrival) = 0;
  // The answer to the request that Arrived has ruled kRefused.
  virtual Refusal RefusalOf(const Session& session) = 0;
  // A pause or a snapshot holds back what was to run: it will be shown again.
  virtual void HeldBack(Session& session) = 0;
  // It is done with; the answer stands in the output, unless the session is blocked.
  struct Done {
    Args args;
    std::span<const size_t> secret;  // arguments that its handler has called so
    bool was_run = false;            // by its handler: not refused, not queued
  };
  virtual void Ran(Session& session, const Done& done) = 0;
  // A session that was blocked may be answered now, and then it has been.
  virtual void Answering(Session& session) = 0;
  virtual void Answered(Session& session) = 0;
};

}  // namespace sluice
