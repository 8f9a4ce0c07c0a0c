// Which scripts stay when many are sent.
#include <gmock/gmock.h>

#include "tests/unit/scripting/script_fixture.h"

namespace sluice {
namespace {

using ScriptCaching = ScriptFixture;

std::string Numbered(int number) {
  return "return " + std::to_string(number) + " -- " + std::string(1000, 'x');
}

TEST_F(ScriptCaching, ScriptsSentByEvalGoOldestUnusedFirst) {
  std::string error;
  const std::string loaded = "return 'loaded'";
  const std::string loaded_later = "return 'loaded later'";
  const std::string used = "return 'used'";
  const std::string unused = "return 'unused'";
  const std::string loaded_sha1(cache_.Load(loaded, true, error)->name());
  const std::string later_sha1(cache_.Load(loaded_later, false, error)->name());
  cache_.Load(loaded_later, true, error);
  const std::string used_sha1(cache_.Load(used, false, error)->name());
  const std::string unused_sha1(cache_.Load(unused, false, error)->name());
  int sent = 0;
  port_.interrupts_left = 1 << 30;
  for (; cache_.evicted() < 30'000; ++sent) {
    ASSERT_TRUE(cache_.Load(Numbered(sent), false, error)) << error;
    if (sent % 1000 == 0) {
      ASSERT_TRUE(cache_.Use(used_sha1));
      cache_.Find(unused_sha1);  // looked up, not used
    }
    ASSERT_LT(cache_.text_bytes() + cache_.lua_bytes(), 3 * ScriptCache::kEvictableBytesMax);
  }
  EXPECT_TRUE(cache_.Find(loaded_sha1));
  EXPECT_TRUE(cache_.Find(later_sha1));
  EXPECT_TRUE(cache_.Find(used_sha1));
  EXPECT_FALSE(cache_.Find(unused_sha1));
  EXPECT_GT(cache_.size(), 5'000u);
  EXPECT_EQ(cache_.size() + cache_.evicted(), static_cast<size_t>(sent) + 4);
  EXPECT_EQ(Eval(used), "$4\r\nused\r\n");
  EXPECT_EQ(Eval(unused), "$6\r\nunused\r\n");
  cache_.Flush();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(Eval(used), "$4\r\nused\r\n");
}

TEST_F(ScriptCaching, AScriptLargerThanAllIsKeptUntilTheNext) {
  const std::string large = "return 1 --" + std::string(ScriptCache::kEvictableBytesMax, 'x');
  port_.interrupts_left = 1 << 30;
  EXPECT_EQ(Eval("return 2"), ":2\r\n");
  EXPECT_EQ(Eval(large), ":1\r\n");
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(Eval("return 2"), ":2\r\n");
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(cache_.evicted(), 2u);
}

}  // namespace
}  // namespace sluice
