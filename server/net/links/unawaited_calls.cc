// See unawaited_calls.h. A thread knows the Shared alone, and tells its number by ringing the bell.
#include "server/net/links/unawaited_calls.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {

struct UnawaitedCalls::Shared {
  Shared() : bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Shared(const Shared&) = delete;
  ~Shared() {
    if (bell >= 0) ::close(bell);
  }

  const int bell;
  std::mutex mutex;  // of all below
  std::vector<uint64_t> through;
  size_t running = 0;
};

UnawaitedCalls::UnawaitedCalls(Poller& poller, std::function<void()> wake)
    : poller_(poller), wake_(std::move(wake)) {}

UnawaitedCalls::~UnawaitedCalls() {
  if (shared_) poller_.Forget(shared_->bell);
}

bool UnawaitedCalls::HasBell() {
  if (shared_) return true;
  auto shared = std::make_shared<Shared>();
  if (shared->bell < 0 || !poller_.Watch(shared->bell, *this)) return false;
  shared_ = std::move(shared);
  return true;
}

uint64_t UnawaitedCalls::Run(std::function<void()> call, std::function<void()> done) {
  if (!HasBell()) return 0;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->running == kThreadsMax) return 0;
    ++shared_->running;
  }
  const uint64_t number = ++last_number_;
  // Signals are the loop's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_running = true;
  try {
    std::thread([shared = shared_, number, call = std::move(call)]() mutable {
      call();
      call = nullptr;
      const std::lock_guard lock(shared->mutex);
      --shared->running;
      shared->through.push_back(number);
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t rung = ::write(shared->bell, &one, sizeof one);
    }).detach();
  } catch (const std::system_error&) {
    is_running = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_running) {
    const std::lock_guard lock(shared_->mutex);
    --shared_->running;
    return 0;
  }
  done_.emplace(number, std::move(done));
  return number;
}

void UnawaitedCalls::Forget(uint64_t number) { done_.erase(number); }

void UnawaitedCalls::Readable(bool) { wake_(); }

void UnawaitedCalls::Advance() {
  if (!shared_) return;
  std::vector<uint64_t> through;
  {
    const std::lock_guard lock(shared_->mutex);
    uint64_t rung;
    [[maybe_unused]] const ssize_t got = ::read(shared_->bell, &rung, sizeof rung);
    through.swap(shared_->through);
  }
  for (const uint64_t number : through) {
    const auto found = done_.find(number);
    if (found == done_.end()) continue;
    const std::function<void()> done = std::move(found->second);
    done_.erase(found);
    done();
  }
}

}  // namespace sluice
