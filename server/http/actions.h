// Changes that the page may make: break a lock, delete a key. Each is the ordinary command, run by
// a client of the page's own that is there for as long: so it has its effects, its line in the log
// of changes, its events, and shows in MONITOR and the slow log under the visitor's address.
//
// Only called when pages.cc has found that the visitor may, and that no command runs around it. The
// answer does not wait until the change is on disk, whatever appendfsync says.
#pragma once

#include "server/http/page_call.h"

namespace sluice {

HttpAnswer BreakLock(const PageCall& call);
HttpAnswer DeleteKey(const PageCall& call);

}  // namespace sluice
