// IdleWatchdog: notices when no program needs this server any more, so that no test leaves one
// behind: the process that started it has ended (exit-with-parent), or no client has been connected
// for so long (idle-exit). With neither option it costs nothing.
//
// The parent is watched by a descriptor of the process (pidfd). The signal that Linux can send
// instead (PR_SET_PDEATHSIG) comes when the *thread* ends that started us, and test runners start
// servers from threads that end; it stands in only where there are no such descriptors.
#pragma once

#include <functional>
#include <string_view>

#include "server/config/settings.h"
#include "server/net/loop/alarms.h"
#include "server/net/loop/event_loop.h"

namespace sluice {

class IdleWatchdog {
 public:
  // `connected` counts clients; `end` is called with the reason, from the loop, at most once.
  IdleWatchdog(EventLoop& loop, Alarms& alarms, const Settings& settings,
               std::function<size_t()> connected, std::function<void(std::string_view why)> end);

  // Begins to watch.
  void Start();
  // A client has left: from now on, if it was the last one, the time runs anew.
  void ClientLeft();
  void Stop();

 private:
  void WatchParent();
  void ParentEnded();
  void AwaitIdle();

  EventLoop& loop_;
  Alarms& alarms_;
  const Settings& settings_;
  const std::function<size_t()> connected_;
  const std::function<void(std::string_view)> end_;
  DescriptorCall parent_;
  Alarms::Id idle_;
};

}  // namespace sluice
