// A transcript: commands and the replies that are due, in a text that reads like documentation.
//
//   # Why this case is here.
//   @ resp3                     the case's conditions: `resp3`, `sluice` (not known to Redis),
//   @ replays                   the clients play a log: a privileged session (implies `sluice`),
//   @ config maxclients 10      or an option at start
//   > SET lock me NX PX 1000    a command of the first client, in redis-cli's quoting
//   < +OK                       its reply, as Reply::ToText writes it
//   2> GET lock                 the second client
//   2< "me"
//   + 1000ms                    time passes
//   > GET lock
//   < (nil)
//
// A blank line ends a case; each begins with an empty server and new connections. `< *` takes any
// reply and `< /regex/` one in whose text the pattern is found. A reply whose brackets are still
// open goes on in the next `<` line. Several `<` lines are several replies (pushes among them); a
// command without any must not be answered at once, as with CLIENT REPLY OFF or a wait.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct TranscriptStep {
  enum class Kind : uint8_t { kCommand, kReply, kWait };
  Kind kind = Kind::kCommand;
  int line = 0;
  int client = 1;
  std::vector<std::string> arguments;  // kCommand
  std::string text;                    // kCommand: as written; kReply: what is expected
  int64_t wait_ms = 0;                 // kWait
};

struct TranscriptCase {
  int line = 0;
  std::string why;
  bool sluice_only = false;
  bool resp3 = false;
  bool replays = false;
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<TranscriptStep> steps;

  int64_t WaitMs() const;
  // Whether the case changes what FLUSHALL does not undo, so that the next one needs another
  // server.
  bool LeavesTraces() const;
};

struct Transcript {
  std::string name;   // the file's name without folder and suffix
  std::string error;  // what is wrong with the file, with its line; or empty
  std::vector<TranscriptCase> cases;
};

Transcript ReadTranscript(const std::string& path);
Transcript ReadTranscript(std::string name, std::istream& lines);
// Every *.txt of a folder, by name.
std::vector<Transcript> ReadTranscripts(const std::string& folder);

// Whether a reply in the notation of Reply::ToText is the expected one.
bool ReplyMatches(std::string_view expected, const std::string& reply);

}  // namespace sluice
