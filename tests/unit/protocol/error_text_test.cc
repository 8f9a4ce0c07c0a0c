// Every code has a sentence that can go on the wire as it stands.
#include "protocol/error_text.h"

#include <gtest/gtest.h>

#include <cctype>

namespace sluice {
namespace {

TEST(ErrorText, EverySentenceBeginsWithACodeAndIsOneLine) {
  for (int i = 1; i < static_cast<int>(ErrorCode::kCount); ++i) {
    const std::string_view text = ErrorText(static_cast<ErrorCode>(i));
    const std::string_view code = text.substr(0, text.find(' '));
    EXPECT_GE(code.size(), 3u) << i;
    EXPECT_LT(code.size(), text.size()) << i;
    for (const char c : code) EXPECT_TRUE(std::isupper(c)) << text;
    EXPECT_EQ(text.find_first_of("\r\n"), std::string_view::npos) << text;
    EXPECT_NE(text.back(), ' ') << text;
  }
}

TEST(ErrorText, ThoseThatClientsMatchOn) {
  EXPECT_EQ(ErrorText(ErrorCode::kWrongType),
            "WRONGTYPE Operation against a key holding the wrong kind of value");
  EXPECT_EQ(ErrorText(ErrorCode::kNoAuth), "NOAUTH Authentication required.");
  EXPECT_EQ(ErrorText(ErrorCode::kExecAbort),
            "EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(ErrorText(ErrorCode::kNotInteger), "ERR value is not an integer or out of range");
}

}  // namespace
}  // namespace sluice
