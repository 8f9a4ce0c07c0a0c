// RequestOutcome: what has become of a client's request.
#pragma once

#include <cstdint>

namespace sluice {

enum class RequestOutcome : uint8_t {
  kDone,  // answered
  kHeld,  // CLIENT PAUSE or a snapshot holds it back: the request is to be shown again later
};

}  // namespace sluice
