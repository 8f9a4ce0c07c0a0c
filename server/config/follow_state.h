// FollowState: whether this server follows another one, as the gates see it. Clients then write
// nothing (replica-read-only), and may be refused while the link to the master is down
// (replica-serve-stale-data); without data they are. Following keeps it.
#pragma once

#include <string_view>

#include "server/config/settings.h"

namespace sluice {

inline constexpr std::string_view kReadOnlyText =
    "READONLY You can't write against a read only replica.";
inline constexpr std::string_view kMasterDownText =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
inline constexpr std::string_view kNoDataText =
    "MASTERDOWN The data of the master could not be loaded, and this replica has none to answer "
    "from.";

struct FollowState {
  bool is_on = false;
  bool is_link_up = false;
  bool lacks_data = false;  // a full sync has failed when the data of before were gone

  bool IsReadOnly(const Settings& settings) const { return is_on && settings.replica_read_only; }
  bool IsStale(const Settings& settings) const {
    return is_on && (lacks_data || (!is_link_up && !settings.replica_serve_stale_data));
  }
  // Requires: IsStale().
  std::string_view StaleText() const { return lacks_data ? kNoDataText : kMasterDownText; }
};

}  // namespace sluice
