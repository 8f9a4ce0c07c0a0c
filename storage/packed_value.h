// What the bytes of a packed entry mean (Entry::packed): the questions that entries and databases have
// to ask about a value that is no object of its own. Declared here and defined by the folder above that
// packs, limits/limiter_packing.cc, so that nothing here knows of limiters.
//
// Precondition of all: the bytes were packed in this process; a file is read by its own decoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/clock.h"

namespace sluice {

std::string_view PackedEncoding(std::string_view packed);  // for OBJECT ENCODING
// As Value::EndsAtMs.
int64_t PackedEndsAtMs(std::string_view packed, const Now& now);
// The first violated invariant as a sentence, or empty.
std::string AuditPacked(std::string_view packed);

}  // namespace sluice
