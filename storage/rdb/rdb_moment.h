// Moments in files: Unix times in ms or us, whatever the engine time of writer and reader. Their
// bounds, far beyond what any command makes, keep sums and products of them within 64 and 128 bits.
#pragma once

#include <cstdint>

#include "storage/rdb/rdb_module.h"
#include "storage/time/clock.h"

namespace sluice {

inline constexpr int64_t kRdbMomentMsMax = int64_t{1} << 52;  // and as far before 1970

inline void WriteMoment(int64_t engine_ms, const Now& now, ModuleWriter& writer) {
  writer.Signed(engine_ms + now.unix_offset_ms);
}

// In engine ms.
inline int64_t ReadMoment(ModuleReader& reader, const Now& now) {
  return reader.Signed(-kRdbMomentMsMax, kRdbMomentMsMax) - now.unix_offset_ms;
}

inline void WriteMomentUs(int64_t engine_us, const Now& now, ModuleWriter& writer) {
  writer.Signed(engine_us + now.unix_offset_ms * 1000);
}

inline int64_t ReadMomentUs(ModuleReader& reader, const Now& now) {
  return reader.Signed(-kRdbMomentMsMax * 1000, kRdbMomentMsMax * 1000) - now.unix_offset_ms * 1000;
}

}  // namespace sluice
