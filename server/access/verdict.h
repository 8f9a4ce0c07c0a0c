// The question before a command runs, and the answer: AccessRequest and Verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "protocol/args.h"

namespace sluice {

// A command's use of a key, or a rule's leave for it.
enum AccessKind : uint8_t { kReads = 1, kWrites = 2 };
inline constexpr uint8_t kReadsAndWrites = kReads | kWrites;

// An argument that is a key. `access` may be 0: the command learns only that the key is there, and
// any rule for the key allows that.
struct AccessedKey {
  size_t position = 0;
  uint8_t access = 0;
};

struct AccessRequest {
  size_t command = 0;        // its number
  bool always_runs = false;  // logging in and out is nobody's to forbid
  Args args;
  absl::FunctionRef<std::span<const AccessedKey>()> keys;  // asked at most once
  // Arguments [channels_begin, channels_end) are channels, or patterns of them.
  size_t channels_begin = 0;
  size_t channels_end = 0;
  bool channels_are_patterns = false;
};

// Why not. In this order, of what several selectors refuse, the later one is told, as in Redis.
enum class Denial : uint8_t { kNone, kCommand, kKey, kAuth, kChannel };

struct Verdict {
  Denial denial = Denial::kNone;
  size_t position = 0;  // of the argument: a key or a channel
  size_t command = 0;   // the number of the one that was refused
  bool allowed() const { return denial == Denial::kNone; }
};

}  // namespace sluice
