// See restart_grace.h.
#include "server/locks/restart_grace.h"

#include <utility>

namespace sluice {

// Gives the memory back as well.
void RestartGrace::End() {
  until_ms_ = 0;
  known_bytes_ = 0;
  decltype(known_)(0, known_.hash_function()).swap(known_);
}

// Clients choose names, so their memory is bounded: beyond it a name stays withheld to the end.
void RestartGrace::Add(LockNameView name) {
  const size_t bytes = sizeof(LockName) + name.key.size();
  if (known_bytes_ + bytes > kKnownBytesMax || known_.contains(name)) return;
  known_bytes_ += bytes;
  known_.insert(LockName(name));
}

}  // namespace sluice
