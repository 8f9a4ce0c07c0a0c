// Counts work, not time: the blocks of code that storage/rdb, storage/types and storage/listpack
// run through (they are compiled for it, see tests/CMakeLists.txt), and each sixteen bytes of
// memory that is asked for. So a small input that makes much work is seen on any machine, however
// busy.
//
//   const Work before = WorkDone();
//   Load(file);
//   CheckWork(WorkDone() - before, file.size());
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

struct Work {
  uint64_t units = 0;
  uint64_t made_bytes = 0;  // what compressed texts have become

  Work operator-(const Work& before) const {
    return {units - before.units, made_bytes - before.made_bytes};
  }
};

// Since the process began. Always nothing where it is not counted: in sanitized builds.
Work WorkDone();

// Reading takes at most this: so much a byte that was read or made, and so much a value.
// Several times what files of many small parts take, which rdb_work prints, so that no sound file
// of a fuzzer is near it.
inline constexpr uint64_t kWorkPerByteMax = 150;
inline constexpr uint64_t kWorkPerValueMax = 40'000;
constexpr uint64_t WorkAllowed(const Work& work, uint64_t bytes, uint64_t values = 1) {
  return kWorkPerByteMax * (bytes + work.made_bytes) + kWorkPerValueMax * values;
}

}  // namespace sluice
