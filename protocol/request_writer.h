// Writes requests, the other way round than RequestParser: as clients send them, as commands stand
// in the log, and as a server tells them to another.
//
//   AppendRequest(out, {"GET", "k"})  ->  *2 $3 GET $1 k, each with its line end
#pragma once

#include <cstddef>
#include <string>

#include "protocol/args.h"

namespace sluice {

void AppendRequest(std::string& out, Args words);
// How many bytes that takes.
size_t RequestBytes(Args words);

}  // namespace sluice
