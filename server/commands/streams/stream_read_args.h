// The arguments of XREAD and XREADGROUP.
//
// Grammar: [GROUP group consumer] [COUNT n] [BLOCK ms] [CLAIM ms] [NOACK] STREAMS key ... id ...,
// as many ids as keys. The views are those of the request and end with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/commands/streams/stream_args.h"
#include "server/dispatch/command.h"

namespace sluice {

// Where reading of one stream goes on.
struct From {
  enum class Kind : uint8_t {
    kAfter,  // entries above the id; with a group: what is pending for the consumer above it
    kNew,    // ">": what the group has not been given yet
  };
  Kind kind = Kind::kAfter;
  StreamId id;
};

// The arguments as they were read; ReadStreamPlaces fills `from`.
struct ReadArgs {
  static constexpr uint64_t kNoCount = ~uint64_t{0};

  bool in_group = false;
  std::string_view group;
  std::string_view consumer;
  bool has_group = false;
  bool no_ack = false;
  std::optional<int64_t> claim_min_ms;  // what is pending for so long is given, too
  uint64_t count = kNoCount;
  std::optional<int64_t> block_until_ms;  // engine ms; 0: for ever
  size_t first_key = 0;
  size_t streams = 0;
  std::vector<From> from;  // one a stream

  std::string_view key(const CommandCall& call, size_t stream) const {
    return call.args[first_key + stream];
  }
};

// Reads the words before the keys; args.in_group says which of the two commands it is. False, as
// below where a call is given: the error has been answered.
bool ReadStreamOptions(CommandCall& call, ReadArgs& args);
// For callers that only look at the words: the keys, the first half of what follows STREAMS.
bool FindStreamKeys(const Request& request, std::vector<KeyUse>& keys);
// The keys and their ids; with a group it has to be there.
bool ReadStreamPlaces(CommandCall& call, ReadArgs& args);
// One id: "$" and ">" among them.
bool ReadPlace(CommandCall& call, const ReadArgs& args, const FoundStream& found,
               std::string_view text, From& from);

}  // namespace sluice
