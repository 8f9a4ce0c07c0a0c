// The fuzzer begins with every type in every form: each sample stands as a file among its seeds.
// SLUICE_WRITE_SEEDS=1 writes those files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "storage/rdb/rdb_types.h"
#include "tests/support/rdb_samples.h"

namespace sluice {
namespace {

TEST(RdbSeeds, HaveEveryTypeInEveryForm) {
  for (const RdbTypeName& type : kRdbTypeNames) {
    size_t seeds = 0;
    for (const RdbSample& sample : RdbSamples()) {
      if (sample.type != type.type) continue;
      const std::string path = std::string(SLUICE_RDB_SEEDS) + '/' + sample.name;
      if (std::getenv("SLUICE_WRITE_SEEDS")) std::ofstream(path, std::ios::binary) << sample.File();
      std::ifstream file(path, std::ios::binary);
      const std::string seed{std::istreambuf_iterator<char>(file), {}};
      EXPECT_TRUE(seed == sample.File()) << path << " is missing, or another";
      ++seeds;
    }
    EXPECT_GT(seeds, 0u) << "no sample of " << type.name << ", " << type.form;
  }
}

}  // namespace
}  // namespace sluice
