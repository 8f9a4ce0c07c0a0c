// EndOutcome: what has become of an end that was asked for: see GracefulEnd.
#pragma once

#include <cstdint>

namespace sluice {

enum class EndOutcome : uint8_t {
  kEnds,    // the host may stop: all is saved that was to be
  kFailed,  // it could not be: the server goes on
  kWaits,   // Host::Shutdown or Host::GoesOn follows
};

}  // namespace sluice
