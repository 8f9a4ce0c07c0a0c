// RequestIds: requests that name themselves (ID token), on limits and on locks. The same request,
// asked again because its answer was lost, gets the same answer and counts once; the same token
// with another key, cost, algorithm or owner is an error. The memory is bounded
// (request-id-memory-max), and said to the log and to replicas as REQUEST.REMEMBER, whatever the
// request was.
//
//   RequestIds& ids = call.part<RequestIds>();
//   const RequestIds::Asked asked = {RequestId(token), FingerprintOf("..."), for_ms};
//   ids.Recall(asked, now)                  -> kNew | kSame | kOther, and what was answered
//   ids.Remember(changes, asked, values, now)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/dispatch/arg_reader.h"
#include "server/dispatch/effects/change_recorder.h"
#include "storage/hashing/key_hash.h"
#include "storage/requests/request_memory.h"

namespace sluice {

// For how long an answer is remembered where nothing else is said, at most.
inline constexpr int64_t kRequestForMs = 3'600'000;

// The longest that a request may name, as an owner.
inline constexpr size_t kRequestIdGivenMax = 1024;

// A checksum of what a request says beside its id. It stands in files, so it is the same on every
// server.
uint64_t FingerprintOf(std::string_view request);

// The argument behind ID; a fault is left in `args`. The id as it is kept.
RequestId ReadRequestId(ArgReader& args);
// The one behind FOR.
int64_t ReadRequestFor(ArgReader& args);

class RequestIds {
 public:
  struct Asked {
    RequestId id;  // empty: it has none
    uint64_t fingerprint = 0;
    int64_t for_ms = kRequestForMs;
    uint64_t hash = 0;  // of the id, HashOf; 0: it is hashed anew each time
  };
  enum class Recalled : uint8_t { kNew, kSame, kOther };
  struct Found {
    Recalled recalled = Recalled::kNew;
    RequestMemory::Answer answer;  // of kSame
  };
  using Values = RequestMemory::Values;

  explicit RequestIds(const TableKey& key) : memory_(key) {}

  // For a request that is recalled and remembered at once.
  uint64_t HashOf(const RequestId& id) const { return memory_.Hashed(id).hash; }
  Found Recall(const Asked& asked, const Now& now);
  // Also says it to the log and to replicas.
  void Remember(const ChangeRecorder& changes, const Asked& asked, std::span<const int64_t> values,
                const Now& now);

  RequestMemory& memory() { return memory_; }
  const RequestMemory& memory() const { return memory_; }
  uint64_t repeated() const { return repeated_; }  // answered from memory, since the start
  size_t remembered() const { return memory_.size(); }
  size_t remembered_bytes() const { return memory_.bytes(); }
  uint64_t evicted() const { return memory_.evicted(); }

 private:
  RequestMemory::HashedId Hashed(const Asked& asked) const {
    return asked.hash != 0 ? RequestMemory::HashedId{asked.id, asked.hash}
                           : memory_.Hashed(asked.id);
  }

  RequestMemory memory_;
  uint64_t repeated_ = 0;
};

// The words of REQUEST.REMEMBER: id, fingerprint, since when (Unix ms), for how long, the values.
std::vector<std::string> RememberWords(std::string_view id, const RequestMemory::AnswerView& answer,
                                       const Now& now);

}  // namespace sluice
