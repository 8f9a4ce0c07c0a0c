// Yielder: a command that takes long asks it, now and then, to serve the other clients meanwhile.
// They get -BUSY or -LOADING, as the gates say.
#pragma once

#include "server/clients/session.h"

namespace sluice {

class Yielder {
 public:
  virtual ~Yielder() = default;
  // Serves others while the command of `caller` goes on. From within such a turn it does nothing.
  virtual void Yield(Session& caller) = 0;
};

}  // namespace sluice
