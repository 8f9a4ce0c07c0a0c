// Bounds on what a peer may send, each with its name. A bound that an option can change is the
// default of that option; the others are fixed, as in Redis. A length beyond its bound is a
// protocol error: the sentence is sent and the connection closed. Memory is taken for what has
// come, never for what is announced.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr int64_t kArgumentsMax =
    1024 * 1024;                                      // arguments of one request (Redis 7: INT_MAX)
inline constexpr size_t kInlineBytesMax = 64 * 1024;  // an inline request, a length line
inline constexpr int64_t kBulkBytesMax = 512LL * 1024 * 1024;  // proto-max-bulk-len

// Before a client has logged in it may send little: it may be any stranger.
inline constexpr int64_t kArgumentsBeforeLoginMax = 10;
inline constexpr int64_t kBulkBytesBeforeLoginMax = 16 * 1024;
inline constexpr size_t kQueryBytesBeforeLoginMax = 24 * 1024;  // of requests that wait
// Replies that wait after a turn; while a turn runs they may be as many as its requests make.
inline constexpr size_t kReplyBytesBeforeLoginMax = 4 * 1024;
inline constexpr size_t kTurnReplyBytesBeforeLoginMax = 1024 * 1024;

// Bounds on what one client may make the server keep, of each kind. Redis has none: ours are there
// so that no kind is without one, and lie where no ordinary client comes. Kept bytes count in the
// client's memory (maxmemory-clients) as well.
inline constexpr size_t kSubscriptionsMax = 1024 * 1024;  // channels, or shard channels
inline constexpr size_t kPatternsMax = 64 * 1024;         // each PUBLISH looks at all of them
inline constexpr size_t kWatchedKeysMax = 1024 * 1024;
inline constexpr size_t kTrackingPrefixesMax = 64 * 1024;
// The same for all clients together.
inline constexpr size_t kUsersMax = 100 * 1024;
inline constexpr size_t kKeptScriptBytesMax = 256UL << 20;  // of SCRIPT LOAD: texts and code
inline constexpr size_t kLibraryBytesMax = 256UL << 20;     // texts of function libraries
// For one group of a stream: XREADGROUP makes consumers in passing, also above maxmemory.
inline constexpr size_t kConsumersMax = 64 * 1024;

// Which of them hold for a request.
struct ParseLimits {
  int64_t arguments_max = kArgumentsMax;
  int64_t bulk_bytes_max = kBulkBytesMax;
  // The client must log in first: kArgumentsBeforeLoginMax and kBulkBytesBeforeLoginMax hold too,
  // with error texts of their own.
  bool before_login = false;
};

}  // namespace sluice
