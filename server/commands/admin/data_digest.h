// The digests of DEBUG DIGEST and DEBUG DIGEST-VALUE: equal data gives Redis's own digests, so that
// two servers can be compared, whichever they are. Limiters, leaky buckets and locks count with all
// that a file says of them, as of now.
//
// Two servers with the same data may differ in how it is stored; a digest does not see that.
#pragma once

#include <string>

#include "storage/keyspace/keyspace.h"

namespace sluice {

// 40 hex digits. Keys past their deadline do not count.
std::string DigestOfAll(Keyspace& keyspace, const Now& now);
// The digest of one value and whether it has a deadline; 40 zeros when the value is missing.
std::string DigestOfValue(const Entry* entry, const Now& now);

}  // namespace sluice
