// See restart_grace.h.
#include "server/locks/restart_grace.h"

#include <algorithm>
#include <utility>

namespace sluice {

// Gives the memory back as well.
void RestartGrace::End() {
  until_ms_ = 0;
  names_bytes_ = 0;
  decltype(names_)(0, names_.hash_function()).swap(names_);
}

// Clients choose names, so their memory is bounded: null beyond it, and a name stays withheld to
// the end.
RestartGrace::About* RestartGrace::Make(LockNameView name, int64_t newest) {
  const auto found = names_.find(name);
  if (found != names_.end()) return &found->second;
  const size_t bytes = sizeof(LockName) + sizeof(About) + name.key.size();
  if (names_bytes_ + bytes > kNamesBytesMax) return nullptr;
  names_bytes_ += bytes;
  return &names_.emplace(LockName(name), About{.settled = newest}).first->second;
}

bool RestartGrace::MayBeMissing(LockNameView name, int64_t token, int64_t newest) const {
  if (token > terms_.last_token) return false;
  const About* const about = Find(name);
  return token > (about == nullptr ? newest : about->settled);
}

void RestartGrace::Know(LockNameView name, int64_t settled) {
  About* const about = Make(name, settled);
  if (about == nullptr) return;
  about->is_known = true;
  about->settled = std::max(about->settled, settled);
}

void RestartGrace::Settle(LockNameView name, int64_t token) {
  About* const about = Make(name, token);
  if (about != nullptr) about->settled = std::max(about->settled, token);
}

void RestartGrace::RanOut(LockNameView name, int64_t token) {
  // In a grace that goes on, ends that an earlier one has written down were in doubt, too.
  const int64_t below = terms_.goes_on ? 0 : token - 1;
  About* const about = Make(name, below);
  if (about != nullptr && !about->is_known) about->settled = std::min(about->settled, below);
}

void RestartGrace::Show(LockNameView name, int64_t token, int64_t newest) {
  About* const about = Make(name, newest);
  if (about != nullptr) about->shown = std::max(about->shown, token);
}

void RestartGrace::Claimed(LockNameView name, int64_t token) {
  const auto found = names_.find(name);
  if (found != names_.end() && found->second.shown <= token) found->second.shown = 0;
}

bool RestartGrace::IsNewerShown(LockNameView name, int64_t token) const {
  const About* const about = Find(name);
  return about != nullptr && about->shown > token;
}

}  // namespace sluice
