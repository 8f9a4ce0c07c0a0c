// `sluice --check-rdb FILE`: what is inside of an RDB file, by type, and the first fault with its
// offset. Values are made and dropped one by one, so a fault is one that a server would find too.
//
// It takes the memory of one value at a time, and 16 bytes a key.
#pragma once

#include <cstdio>
#include <string>

#include "storage/hashing/sip_hash.h"

namespace sluice {

// Prints to `out`, and a fault to `errors`. The exit status: 0 for a sound file, otherwise 1. Hash
// tables that the file fills are hashed under `secret`.
int CheckRdb(const std::string& path, const SipKey& secret, std::FILE* out, std::FILE* errors);

}  // namespace sluice
