// See signals.h.
#include "server/net/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace sluice {
namespace {

constexpr int kFollowedSignals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR2};

}  // namespace

Signals::Signals(EventLoop& loop, std::function<bool(int)> end)
    : set_(loop, [this] { Read(); }), end_(std::move(end)) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t followed;
  ::sigemptyset(&followed);
  for (const int signal : kFollowedSignals) ::sigaddset(&followed, signal);
  if (!set_.Open(::signalfd(-1, &followed, SFD_CLOEXEC | SFD_NONBLOCK))) return;
  ::pthread_sigmask(SIG_BLOCK, &followed, nullptr);
}

void Signals::Read() {
  signalfd_siginfo come;
  while (set_.open() && ::read(set_.descriptor(), &come, sizeof come) == sizeof come) {
    if (end_(static_cast<int>(come.ssi_signo))) set_.Close();
  }
}

}  // namespace sluice
