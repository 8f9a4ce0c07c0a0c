// Requests for locks that name themselves (ID): the same one, asked again because its answer was
// lost, gets its grant again, and no hold more. It does as long as that grant is held; if it has
// ended since, the request is a new one.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "server/limits/request_ids.h"
#include "storage/locks/locks.h"

namespace sluice {

// A request for these locks is remembered so.
RequestIds::Asked AskedOf(const RequestId& id, std::string_view owner, const LockShape& shape,
                          absl::Span<const LockNameView> names);
RequestIds::Asked AskedOf(const LockRequest& request);
// The tokens, in the order of the names.
RequestIds::Values TokensOf(const LockGrants& grants);
// Whether the owner holds all of these locks by the grants that were remembered.
bool AreHeldBy(absl::Span<OpenLock> locks, std::string_view owner,
               const RequestIds::Values& tokens);

}  // namespace sluice
