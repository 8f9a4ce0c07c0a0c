// EngineOptions: what an engine is made with beside its configuration.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/hashing/key_hash.h"

namespace sluice {

class MovableClock;
class Spaces;
class ZoneSource;

// Facts of the process for INFO. One for all of its engines.
struct ProcessFacts {
  std::string executable;  // for CONFIG, too
  int64_t process_id = 0;
  std::string os;  // "Linux 6.1.0 x86_64"
  std::string allocator = "libc";
  uint64_t machine_memory = 0;   // bytes of RAM; 0: not known
  std::string multiplexing_api;  // what waits for sockets: "epoll"; empty: the host program
};

struct EngineOptions {
  // In a test double: the engine's clock, which SLUICE.CLOCK moves. The host calls Housekeep once a
  // second of real time. Null: there is no such command.
  MovableClock* movable_clock = nullptr;
  Spaces* spaces = nullptr;  // of a test double: the one that this engine is, and all others
  uint64_t seed = 0;         // every random choice comes from it
  // The keys of all hash tables are made from it. It is of the system's randomness, for chance of
  // the seed shows in answers. None: they are made from the seed, so that a run can be repeated;
  // then a client that knows the seed can make names that collide.
  std::optional<SipKey> hash_key;
  std::shared_ptr<ZoneSource> zones;  // null: there is no time zone but UTC
  std::shared_ptr<const ProcessFacts> process = std::make_shared<const ProcessFacts>();
};

}  // namespace sluice
