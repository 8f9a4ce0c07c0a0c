// See hand_over.h.
#include "server/net/hand_over/hand_over.h"

#include <unistd.h>

#include <utility>

#include "protocol/text/concat.h"

namespace sluice {

HandOver::HandOver(Uses uses)
    : on_(std::move(uses)),
      successor_(on_.loop, [this] { on_.between_turns([this] { Hear(); }); }) {}

void HandOver::Begin(const StartedAs& as, const std::vector<InheritedSocket>& sockets) {
  if (const std::string fault = successor_.Start(as, sockets); !fault.empty()) return Refuse(fault);
  on_.log(Concat("process ", successor_.process(), " is to take over"));
  on_.call_in(Successor::kPatience, [this, attempt = ++attempt_] {
    if (successor_.running() && attempt == attempt_)
      GiveUp(Concat("has not started within ", Successor::kPatience.count(), " s"));
  });
}

void HandOver::Refuse(std::string_view why) {
  on_.log(Concat("no new process takes over: ", why, "; this one serves on"));
}

void HandOver::Stop() {
  if (successor_.running()) GiveUp("is not needed any more");
}

void HandOver::Hear() {
  switch (successor_.Hear()) {
    case Successor::Word::kNone:
      return;
    case Successor::Word::kHasEnded:
      return GiveUp("could not start");
    case Successor::Word::kCanStart:
      return Complete();
  }
}

void HandOver::GiveUp(std::string_view why) {
  const pid_t process = successor_.process();
  const std::string end = successor_.End();
  on_.log(Concat("process ", process, " does not take over: it ", why, " (", end,
                 "); this one serves on"));
}

// --- while the loop stands still

void HandOver::Complete() {
  const std::string fault = on_.put_data_down() ? Exchange() : "is not needed: see above";
  if (fault.empty()) return on_.make_way();
  GiveUp(fault);
  on_.take_data_up();
}

// Empty: the other one has the data. Else why not, and this one has them.
std::string HandOver::Exchange() {
  ServiceManager& manager = on_.manager;
  const std::string fault =
      successor_.AwaitLoaded(manager.interval(), [&manager] { manager.SignOfLife(); });
  if (!fault.empty()) return fault;
  // Before its own READY=1, which systemd takes from the main process alone.
  manager.MainProcessIs(successor_.process());
  if (successor_.GiveWay()) return {};
  manager.MainProcessIs(::getpid());
  return "has ended";
}

}  // namespace sluice
