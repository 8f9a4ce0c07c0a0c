// See lock_requests.h.
#include "server/locks/lock_requests.h"

#include <string>
#include <vector>

#include "protocol/text/concat.h"

namespace sluice {

// Names may hold any bytes, so each stands behind its length.
RequestIds::Asked AskedOf(const RequestId& id, std::string_view owner, const LockShape& shape,
                          absl::Span<const LockNameView> names) {
  std::string text = Concat("lock ", owner.size(), ":", owner, " ", static_cast<int>(shape.mode),
                            " ", shape.permits, " ", shape.of);
  for (const LockNameView& name : names)
    ConcatTo(text, " ", name.db, " ", name.key.size(), ":", name.key);
  return {id, FingerprintOf(text)};
}

RequestIds::Asked AskedOf(const LockRequest& request) {
  const std::vector<LockNameView> names(request.names.begin(), request.names.end());
  return AskedOf(RequestId::Kept(request.id), request.owner, request.terms.shape, names);
}

RequestIds::Values TokensOf(const LockGrants& grants) {
  RequestIds::Values tokens;
  for (const LockGrant& grant : grants) tokens.push_back(grant.token);
  return tokens;
}

bool AreHeldBy(absl::Span<OpenLock> locks, std::string_view owner,
               const RequestIds::Values& tokens) {
  if (tokens.size() != locks.size()) return false;
  for (size_t i = 0; i < locks.size(); ++i) {
    const Lock* const lock = locks[i].lock();
    if (lock == nullptr || !lock->IsHeldBy(owner, tokens[i])) return false;
  }
  return true;
}

}  // namespace sluice
