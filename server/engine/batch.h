// Batch: requests cut from the input of one or several sessions, looked up and prefetched together
// before the first of them runs, so that their cache misses overlap.
//
// Parsing ahead must not be seen from outside: a client that has not logged in is parsed one
// request at a time (its limits change with AUTH), and a session that blocks or closes in the
// middle gets the rest of its bytes back unparsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/request_parser.h"
#include "server/engine/command_table.h"
#include "server/engine/session.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

class Engine;

// What one session has to be parsed this turn.
struct Input {
  Session* session;
  std::string_view window;  // the host's bytes, or session->pending
  size_t position = 0;      // up to here it has been run
  size_t parsed = 0;        // up to here it is in the batch
  bool from_pending = false;
  bool starved = false;  // the rest is an incomplete request
  bool stopped = false;  // blocked, held or closed: the rest waits
  bool spent() const { return starved || stopped || parsed >= window.size(); }
};

class Batch {
 public:
  static constexpr size_t kRequestsMax = 64;

  // Parses from inputs[at...] until full; advances `at` past inputs that are spent. False if
  // nothing was found.
  bool Fill(Engine& engine, std::vector<Input>& inputs, size_t& at);
  void Prefetch(Engine& engine);
  void Run(Engine& engine, std::vector<Input>& inputs);

 private:
  struct Request {
    uint32_t input;
    uint32_t first_argument;
    uint32_t arguments;
    bool broken;  // a protocol error: the parser's sentence is the answer
    size_t end;   // offset behind it in the window
    Command* command;
    HashedKey key;
    const Database* db;  // where the key is likely to be; null: nothing to fetch
    // What is likely to be found there; until the first request runs.
    const PackedPointer* slot;
    const Entry* likely;
  };
  bool Parse(Engine& engine, std::vector<Input>& inputs, size_t index);
  Command* Look(Engine& engine, std::string_view name);
  void PrefetchObjects();
  void RunOne(Engine& engine, Input& input, const Request& request);

  std::vector<Request> requests_;
  std::vector<std::string_view> arguments_;
  bool objects_ = false;        // some command may work on more than the entry of its key
  std::string_view last_name_;  // of the request parsed last in this batch
  Command* last_command_ = nullptr;
};

}  // namespace sluice
