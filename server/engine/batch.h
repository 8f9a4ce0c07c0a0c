// Batch: requests cut from the input of one or several sessions, looked up and prefetched together
// before the first of them runs, so that their cache misses overlap.
//
// Parsing ahead must not be seen from outside: a client that has not logged in is parsed one
// request at a time (its limits change with AUTH), and a session that blocks or closes in the
// middle gets the rest of its bytes back unparsed.
//
// At most 64 requests, so that what was fetched is still in the cache when its request runs.
// Arguments are views of the inputs' windows, valid until the next Parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/request_parser.h"
#include "server/config/config.h"
#include "server/dispatch/command_memo.h"
#include "server/engine/inputs.h"
#include "storage/keyspace/keyspace.h"

namespace sluice {

class Batch {
 public:
  static constexpr size_t kRequestsMax = 64;

  struct Request {
    uint32_t input;  // its number
    uint32_t first_argument;
    uint32_t arguments;
    bool broken;  // a protocol error: the parser's sentence is the answer
    size_t end;   // offset behind it in the window
    const Command* command;
    HashedKey key;
    Database* db;         // where the key is likely to be; null: nothing to fetch
    const Entry* likely;  // what is likely to be found there
  };

  Batch(const Settings& settings, const CommandTable& commands, Keyspace& keyspace)
      : settings_(&settings), names_(commands), keyspace_(&keyspace) {}

  // Cuts requests from inputs[at...] until full, hashes the first key of each, and asks for the
  // segments of the keys; advances `at` past inputs that are spent. False if nothing was found.
  bool Parse(std::vector<Input>& inputs, size_t& at);
  // Fetches the rest of what the keys of several requests need.
  void Prefetch();
  // Before a request runs: what was fetched for it need not be looked for again.
  void Suggest(const Request& request) const {
    if (request.likely && keyspace_->moves() == moves_) [[likely]]
      request.db->Suggest(request.key, *request.likely);
  }

  std::span<const Request> requests() const { return {requests_.data(), size_}; }
  Args ArgsOf(const Request& request) const {
    return {arguments_.data() + request.first_argument, request.arguments};
  }

 private:
  // The table of the database that a session has selected.
  struct Table {
    Database* db = nullptr;  // null: it was not made yet
    bool has_times = false;  // some keys there have
  };

  Table TableOf(const Session& session) const;
  bool ParseOne(Input& input, size_t index, const ParseLimits& limits, const Table& table);
  void HashFirstKey(Request& request, const Table& table);
  void PrefetchFirst();
  void PrefetchEntries();
  void PrefetchObjects();
  void PrefetchTimers();

  const Settings* settings_;
  CommandMemo<2> names_;
  Keyspace* keyspace_;
  // Room for one request, or for kRequestsMax: `size_` of them are of this batch.
  std::vector<Request> requests_;
  size_t room_ = 0;
  size_t size_ = 0;
  ArgumentList arguments_;
  bool objects_ = false;  // some command may work on more than the entry of its key
  bool times_ = false;    // some command is likely to end the time of its key
  uint64_t moves_ = 0;    // Keyspace::moves() at the last Prefetch
};

}  // namespace sluice
