// Plays a transcript's cases on a server, whichever it is, and reports what was answered otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reply_reader.h"
#include "tests/transcripts/transcript.h"

namespace sluice {

// A server for one case: empty, with as many clients as the case asks for.
class TranscriptServer {
 public:
  virtual ~TranscriptServer() = default;
  // Clients are numbered from 1 and connect when they are first met.
  virtual void Send(int client, const std::vector<std::string>& arguments) = 0;
  // The client's next reply; null when none comes or has come.
  virtual std::optional<Reply> Next(int client) = 0;
  // The same, for replies that should not be there: never waits.
  virtual std::optional<Reply> Unexpected(int client) = 0;
  virtual void Wait(int64_t ms) = 0;
};

// Gives out servers; may hand out the same again when the case before left no traces.
class TranscriptPlace {
 public:
  virtual ~TranscriptPlace() = default;
  // Null when the case is not to be played here.
  virtual std::unique_ptr<TranscriptServer> Open(const TranscriptCase& played) = 0;
};

// The engine in this process, with the manual clock.
std::unique_ptr<TranscriptPlace> EnginePlace();
// redis-server. Cases that wait longer than `wait_ms_max` are left out, for here time is real.
std::unique_ptr<TranscriptPlace> RedisPlace(int64_t wait_ms_max);

// What went wrong, a paragraph for each case (the rest of a case is skipped after its first fault).
std::vector<std::string> PlayTranscript(const Transcript& transcript, TranscriptPlace& place);

}  // namespace sluice
