// HandOver: how a server makes way for a new process, which has the same sockets and finds the same
// data (signs.h says what the two say to each other).
//
// Until the new one can start, clients are served. Then the data are put down, and the loop stands
// still while the new one loads: nobody is answered, nothing ends, and who connects waits in the
// queue. If the new one fails, it is dead before the data are taken up again, and the loop goes on
// as if a turn had taken that long.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/hand_over/started_as.h"
#include "server/net/hand_over/successor.h"
#include "server/net/loop/event_loop.h"
#include "server/net/manager/service_manager.h"

namespace sluice {

class HandOver {
 public:
  // Its needs of the server. Nothing of it is called from within Begin's caller but `log`.
  struct Uses {
    EventLoop& loop;
    ServiceManager& manager;
    ServiceManager::CallIn call_in;
    // Has `call` made between two turns.
    std::function<void(std::function<void()> call)> between_turns;
    std::function<void(std::string_view line)> log;
    // Everything is on disk, and nothing writes there any more. False: it cannot be put there.
    std::function<bool()> put_data_down;
    // The opposite, also behind a put_data_down that was false.
    std::function<void()> take_data_up;
    // The other one has it all: the server ends without touching anything of it.
    std::function<void()> make_way;
  };
  explicit HandOver(Uses uses);

  // Starts the new process; what comes of it is logged.
  void Begin(const StartedAs& as, const std::vector<InheritedSocket>& sockets);
  // `why` no process can take over, as a sentence.
  void Refuse(std::string_view why);
  bool running() const { return successor_.running(); }
  // The server ends: the new process does, too.
  void Stop();

 private:
  void Hear();
  void Complete();
  std::string Exchange();
  void GiveUp(std::string_view why);

  const Uses on_;
  Successor successor_;
  int64_t attempt_ = 0;  // tells an alarm of an earlier one
};

}  // namespace sluice
