// See idle_watchdog.h.
#include "server/net/idle_watchdog.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

int OpenProcess(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

// Whoever's parent ends becomes a child of process 1. In a container process 1 may be the parent
// itself; then we are of its session, unless we were given one of our own.
bool IsOrphan() {
  return ::getppid() == 1 && ::getsid(0) != ::getsid(1) && ::getsid(0) != getpid();
}

}  // namespace

IdleWatchdog::IdleWatchdog(EventLoop& loop, Alarms& alarms, const Settings& settings,
                           std::function<size_t()> connected,
                           std::function<void(std::string_view)> end)
    : loop_(loop),
      alarms_(alarms),
      settings_(settings),
      connected_(std::move(connected)),
      end_(std::move(end)),
      parent_(loop, [this] { ParentEnded(); }) {}

void IdleWatchdog::Start() {
  if (settings_.exit_with_parent) WatchParent();
  if (settings_.idle_exit > 0) AwaitIdle();
}

void IdleWatchdog::ClientLeft() {
  if (settings_.idle_exit > 0) AwaitIdle();
}

void IdleWatchdog::Stop() {
  parent_.Close();
  alarms_.Cancel(idle_);
}

// The parent may end between two of these steps: then we have another one at the last.
void IdleWatchdog::WatchParent() {
  const pid_t parent = ::getppid();
  const int descriptor = OpenProcess(parent);
  if (descriptor < 0) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (IsOrphan() || ::getppid() != parent) {
    if (descriptor >= 0) ::close(descriptor);
    return loop_.Post([this] { ParentEnded(); });
  }
  parent_.Open(descriptor);
}

void IdleWatchdog::ParentEnded() {
  end_("The process that started this one has ended, shutting down");
}

// Every client that leaves sets it anew, so when the timer ends without any client, none has been
// there since.
void IdleWatchdog::AwaitIdle() {
  alarms_.Cancel(idle_);
  idle_ = alarms_.Set(std::chrono::seconds(settings_.idle_exit), [this] {
    if (connected_() > 0) return;
    end_(Concat("No client for ", settings_.idle_exit, " seconds (idle-exit), shutting down"));
  });
}

}  // namespace sluice
