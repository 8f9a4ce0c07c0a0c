// Who may see the pages: names of the server, and passwords.
#include "server/http/visitor.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Visitor, NamesOfTheServer) {
  const std::vector<std::string> names = {"metrics.internal"};
  for (const std::string_view own :
       {"127.0.0.1", "10.0.0.7:9121", "localhost", "LocalHost:80", "[::1]", "[::1]:9121",
        "[fe80::1]:80", "metrics.internal", "METRICS.internal:9121", "localhost."})
    EXPECT_TRUE(IsOwnName(own, names)) << own;
  for (const std::string_view other :
       {"", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0",
        "1.2.3.4.5", "1.2.3.", "1..2.3", "localhost:x", "localhost:80:80", "[::1].evil", "[]",
        "::1", "metrics.internal.evil", "127.0.0.1 evil", "0x7f000001", "user@localhost"})
    EXPECT_FALSE(IsOwnName(other, names)) << other;
}

TEST(Visitor, Passwords) {
  HttpRequest request;
  request.is_local = true;
  EXPECT_TRUE(IsLetIn(request, ""));
  EXPECT_FALSE(IsLetIn(request, "secret"));
  request.is_local = false;
  EXPECT_FALSE(IsLetIn(request, ""));
  const auto with = [&](std::string_view header, std::string_view password) {
    request.authorization = header;
    return IsLetIn(request, password);
  };
  EXPECT_TRUE(with("Basic dXNlcjpzZWNyZXQ=", "secret"));  // user:secret
  EXPECT_TRUE(with("basic   dXNlcjpzZWNyZXQ", "secret"));
  EXPECT_TRUE(with("Basic OnM6Zg==", "s:f"));  // :s:f
  EXPECT_TRUE(with("BEARER secret", "secret"));
  for (const std::string_view wrong : {"", "Basic", "Basic ", "Basic !", "Basic dXNlcg==", "Bearer",
                                       "Bearer secre", "Bearer secrets", "secret", "Digest secret"})
    EXPECT_FALSE(with(wrong, "secret")) << wrong;
  request.is_certified = true;
  EXPECT_TRUE(with("", "secret"));
}

}  // namespace
}  // namespace sluice
