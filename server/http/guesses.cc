// See guesses.h. There are few, so each question looks at all of them.
#include "server/http/guesses.h"

#include <algorithm>
#include <cassert>

namespace sluice {
namespace {

std::string_view MachineOf(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

}  // namespace

void Guesses::Expire(int64_t now_ns) {
  std::erase_if(guesses_, [now_ns](const Guess& guess) { return guess.until_ns <= now_ns; });
}

bool Guesses::MayJudge(std::string_view address, int64_t now_ns) {
  Expire(now_ns);
  if (guesses_.size() >= kMax) return false;
  const std::string_view machine = MachineOf(address);
  const auto of_it = std::ranges::count_if(
      guesses_, [machine](const Guess& guess) { return guess.machine == machine; });
  return static_cast<size_t>(of_it) < kOfOneMax;
}

void Guesses::Wrong(std::string_view address, int64_t until_ns) {
  assert(guesses_.size() < kMax);
  guesses_.push_back({std::string(MachineOf(address)), until_ns});
}

int64_t Guesses::next_ns() const {
  int64_t next = kNever;
  for (const Guess& guess : guesses_) next = std::min(next, guess.until_ns);
  return next;
}

}  // namespace sluice
