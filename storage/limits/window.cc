// See window.h. A refund opens no window, and a change of the limit keeps the open one.
#include "storage/limits/window.h"

namespace sluice {

void WindowState::Refund(const LimitConfig&, int64_t now_us, int64_t units) {
  if (Open(now_us)) used -= std::min(units, used);
}

void WindowState::Reconfigure(const LimitConfig&, const LimitConfig&, int64_t) {}

}  // namespace sluice
