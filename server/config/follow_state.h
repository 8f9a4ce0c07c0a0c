// FollowState: whether this server follows another one, as the gates see it. Clients then write
// nothing (replica-read-only), and may be refused while the link to the master is down
// (replica-serve-stale-data). Following keeps it.
#pragma once

#include <string_view>

#include "server/config/settings.h"

namespace sluice {

inline constexpr std::string_view kReadOnlyText =
    "READONLY You can't write against a read only replica.";
inline constexpr std::string_view kMasterDownText =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";

struct FollowState {
  bool is_on = false;
  bool is_link_up = false;

  bool IsReadOnly(const Settings& settings) const { return is_on && settings.replica_read_only; }
  bool IsStale(const Settings& settings) const {
    return is_on && !is_link_up && !settings.replica_serve_stale_data;
  }
};

}  // namespace sluice
