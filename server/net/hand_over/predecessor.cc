// See predecessor.h.
#include "server/net/hand_over/predecessor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "protocol/text/number_text.h"
#include "server/net/hand_over/signs.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLoadingEvery{500};

}  // namespace

bool Predecessor::IsThere() { return std::getenv(kHandOverVariable) != nullptr; }

Predecessor::~Predecessor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Predecessor::Begin() {
  const char* const text = std::getenv(kHandOverVariable);
  const std::optional<int64_t> descriptor = ParseInt64(text ? text : "");
  ::unsetenv(kHandOverVariable);
  if (!descriptor || *descriptor < 0 || *descriptor > INT32_MAX) return;
  descriptor_ = static_cast<int>(*descriptor);
  if (::fcntl(descriptor_, F_SETFD, FD_CLOEXEC) < 0) descriptor_ = -1;
}

void Predecessor::AwaitData() {
  Say(kChecked);
  Await(kGo);
}

void Predecessor::Loading() {
  const Clock::time_point now = Clock::now();
  if (descriptor_ < 0 || now < said_ + kLoadingEvery) return;
  said_ = now;
  Say(kLoading);
}

void Predecessor::AwaitPlace() {
  if (descriptor_ < 0) return;
  Say(kReady);
  Await(kYours);
  ::close(std::exchange(descriptor_, -1));
}

// One that is not there any more needs to be told nothing.
void Predecessor::Say(char sign) {
  [[maybe_unused]] const ssize_t ignored = ::send(descriptor_, &sign, 1, MSG_NOSIGNAL);
}

// Nothing else is said before it.
void Predecessor::Await(char sign) {
  char said = 0;
  while (said != sign) {
    const ssize_t got = ::recv(descriptor_, &said, 1, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

}  // namespace sluice
