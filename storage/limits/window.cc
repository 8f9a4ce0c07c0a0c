// See window.h. A refund opens no window, and a change of the limit keeps the open one.
#include "storage/limits/window.h"

#include "storage/limits/calendar.h"

namespace sluice {

// A logged request says when its window ends, whatever the calendar says by now.
int64_t WindowState::EndOfCalendarWindow(const LimitConfig& config, int64_t unix_ms) {
  if (config.calendar != nullptr) return config.calendar->EndMs(unix_ms);
  return std::max(config.window_end_ms, unix_ms + 1);
}

void WindowState::Refund(const LimitConfig&, int64_t now_us, int64_t units) {
  if (Open(now_us)) used -= std::min(units, used);
}

void WindowState::Reconfigure(const LimitConfig&, const LimitConfig&, int64_t) {}

}  // namespace sluice
