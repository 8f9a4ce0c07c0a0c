// See window.h.
#include "storage/limits/window.h"

namespace sluice {

void WindowState::Refund(const LimitConfig&, int64_t now_us, int64_t units) {
  if (Open(now_us)) used -= std::min(units, used);
}

void WindowState::Reconfigure(const LimitConfig&, const LimitConfig&, int64_t) {}

}  // namespace sluice
