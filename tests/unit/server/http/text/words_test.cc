// What strangers send to the page's paths: queries and bodies, sound and broken.

#include <gtest/gtest.h>

#include "server/http/text/action_body.h"
#include "server/http/text/query.h"

namespace sluice {
namespace {

TEST(ApiQuery, IsRead) {
  ApiQuery query;
  EXPECT_EQ(
      ReadQuery("db=3&match=a%2a+%ff&cursor=18446744073709551615&type=lock&key=YQ", 16, query), "");
  EXPECT_EQ(query.db, 3);
  EXPECT_EQ(query.match, "a* \xff");
  EXPECT_EQ(query.cursor, UINT64_MAX);
  EXPECT_EQ(query.type, "lock");
  EXPECT_EQ(query.key, "a");
  EXPECT_EQ(ReadQuery("", 16, query), "");
  EXPECT_EQ(ReadQuery("match=" + std::string(kMatchBytesMax, '*'), 16, query), "");
}

TEST(ApiQuery, FaultsAreTold) {
  for (const std::string& text : {std::string("db"),
                                  std::string("db="),
                                  std::string("db=16"),
                                  std::string("db=-1"),
                                  std::string("db=1x"),
                                  std::string("db=1&db=2"),
                                  std::string("cursor=-1"),
                                  std::string("cursor=18446744073709551616"),
                                  std::string("match=%"),
                                  std::string("match=%a"),
                                  std::string("match=%zz"),
                                  std::string("key=!"),
                                  std::string("key=AAAAA"),
                                  std::string("nothing=1"),
                                  std::string("=1"),
                                  std::string("&"),
                                  std::string("db=1&&db=1"),
                                  "match=" + std::string(kMatchBytesMax + 1, '*'),
                                  "key=" + std::string(8000, 'A'),
                                  "type=" + std::string(100, 'x')}) {
    ApiQuery query;
    EXPECT_NE(ReadQuery(text, 16, query), "") << text;
  }
}

TEST(ActionBody, IsRead) {
  ActionBody body;
  EXPECT_EQ(ReadActionBody(R"({"db":0,"key":"ZG9vcg"})", 16, body), "");
  EXPECT_EQ(body.key, "door");
  EXPECT_EQ(body.token, 0);
  EXPECT_EQ(
      ReadActionBody(" {\n\"token\" : 9007199254740991 , \"key\":\"\",\"db\":15}\r\n", 16, body),
      "");
  EXPECT_EQ(body.db, 15);
  EXPECT_EQ(body.token, 9007199254740991);
  EXPECT_EQ(body.key, "");
}

TEST(ActionBody, FaultsAreTold) {
  for (const std::string_view text : {"",
                                      "null",
                                      "[]",
                                      "{}",
                                      "{",
                                      "{\"db\":0}",
                                      "{\"key\":\"YQ\"}",
                                      "{\"db\":0,\"key\":\"YQ\"",
                                      "{\"db\":0,\"key\":\"YQ\"}x",
                                      "{\"db\":0,\"key\":\"YQ\",}",
                                      "{\"db\":0,,\"key\":\"YQ\"}",
                                      "{\"db\":\"0\",\"key\":\"YQ\"}",
                                      "{\"db\":0,\"key\":1}",
                                      "{\"db\":0,\"key\":null}",
                                      "{\"db\":16,\"key\":\"YQ\"}",
                                      "{\"db\":-1,\"key\":\"YQ\"}",
                                      "{\"db\":0.5,\"key\":\"YQ\"}",
                                      "{\"db\":0,\"key\":\"\\u0041\"}",
                                      "{\"db\":0,\"key\":\"Y\"}",
                                      "{\"db\":0,\"key\":\"!\"}",
                                      "{\"db\":0,\"key\":\"YQ\",\"token\":0}",
                                      "{\"db\":0,\"key\":\"YQ\",\"token\":9007199254740992}",
                                      "{\"db\":0,\"key\":\"YQ\",\"token\":\"1\"}",
                                      "{\"db\":0,\"db\":0,\"key\":\"YQ\"}",
                                      "{\"db\":0,\"key\":\"YQ\",\"more\":{}}",
                                      "{'db':0,'key':'YQ'}",
                                      "db=0&key=YQ"}) {
    ActionBody body;
    EXPECT_NE(ReadActionBody(text, 16, body), "") << text;
  }
}

// No cut of a sound body is one.
TEST(ActionBody, NoPartIsAWhole) {
  constexpr std::string_view kBody = R"({"db":0,"key":"ZG9vcg","token":12})";
  for (size_t size = 0; size < kBody.size(); ++size) {
    ActionBody body;
    EXPECT_NE(ReadActionBody(kBody.substr(0, size), 16, body), "") << size;
  }
}

}  // namespace
}  // namespace sluice
