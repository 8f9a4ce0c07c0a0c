// Bounds on what a peer may send, each with its name. Those that an option can change are the
// defaults of that option; the others are fixed, as in Redis.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr int64_t kArgumentsMax =
    1024 * 1024;                                      // arguments of one request (Redis 7: INT_MAX)
inline constexpr size_t kInlineBytesMax = 64 * 1024;  // an inline request, a length line
inline constexpr int64_t kBulkBytesMax = 512LL * 1024 * 1024;  // proto-max-bulk-len

// Before a client has logged in it may send little: it may be any stranger.
// A length beyond its bound is a protocol error: the sentence is sent and the connection closed.
// Memory is taken for what has come, never for what is announced.
inline constexpr int64_t kArgumentsBeforeLoginMax = 10;
inline constexpr int64_t kBulkBytesBeforeLoginMax = 16 * 1024;
inline constexpr size_t kQueryBytesBeforeLoginMax = 24 * 1024;  // of requests that wait
// Of replies that wait after a turn; while a turn runs they may be as many as its requests make.
inline constexpr size_t kReplyBytesBeforeLoginMax = 4 * 1024;
inline constexpr size_t kTurnReplyBytesBeforeLoginMax = 1024 * 1024;

}  // namespace sluice
