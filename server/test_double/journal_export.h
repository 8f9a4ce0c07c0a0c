// SLUICE.JOURNAL EXPORT: what the journal holds as a transcript (tests/transcripts/transcript.h),
// so that it can be played on another server:
//
//   # A journal of 4 requests, exported.
//   @ sluice
//   > SET lock me NX PX 1000
//   < +OK
//   2> GET lock
//   2< "me"
//   + 1001ms
//
// Commands stand where they came, answers where they were given, with the time between. Requests
// that cannot be played stand as a remark: ones that a fault kept from running, or that were cut or
// have secrets. The answer of one that a fault hit behind its execution, or that was cut, is `*`.
// Pushes are not recorded; and what depends on the time or on chance another server answers
// otherwise.
#pragma once

#include <string>

#include "server/test_double/journal.h"

namespace sluice {

std::string Export(const Journal& journal);

}  // namespace sluice
