// OthersServer: what a command that takes long asks, now and then, so that no other client waits
// for it. They get -BUSY or -LOADING, as the gates say.
#pragma once

#include "server/clients/session.h"

namespace sluice {

class OthersServer {
 public:
  virtual ~OthersServer() = default;
  // Serves others while the command of `caller` goes on. From within such a turn it does nothing.
  virtual void ServeOthers(Session& caller) = 0;
};

}  // namespace sluice
