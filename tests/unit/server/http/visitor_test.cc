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
  EXPECT_EQ(StandingOf(request, ""), Standing::kLocal);
  EXPECT_EQ(StandingOf(request, "secret"), Standing::kAnonymous);
  request.is_local = false;
  EXPECT_EQ(StandingOf(request, ""), Standing::kAnonymous);
  const auto with = [&](std::string_view header, std::string_view password) {
    request.authorization = header;
    return StandingOf(request, password) == Standing::kLoggedIn;
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

// Whoever has shown the same is one, be it by Basic or as a token; a certificate is another.
TEST(Visitor, Logins) {
  HttpRequest request;
  request.is_local = true;
  EXPECT_EQ(LoginOf(request, ""), "");
  request.authorization = "Bearer secret";
  const std::string login = LoginOf(request, "secret");
  EXPECT_FALSE(login.empty());
  EXPECT_EQ(LoginOf(request, "other"), "");
  request.authorization = "Basic dXNlcjpzZWNyZXQ=";
  EXPECT_EQ(LoginOf(request, "secret"), login);
  request.is_certified = true;
  EXPECT_NE(LoginOf(request, "secret"), login);
}

TEST(Visitor, PagesElsewhere) {
  struct Case {
    std::string_view origin, site;
    bool own, elsewhere;
  };
  for (const Case& each :
       {Case{"", "", false, false},  // a program
        Case{"", "none", false, false}, Case{"", "same-origin", false, false},
        Case{"", "same-site", false, true}, Case{"", "cross-site", false, true},
        Case{"http://localhost:9121", "", true, false},
        Case{"https://LOCALHOST:9121", "same-origin", true, false},
        Case{"http://localhost:9121", "cross-site", false, true},
        Case{"http://localhost:9122", "", false, true}, Case{"http://localhost", "", false, true},
        Case{"http://localhost:9121.evil", "", false, true},
        Case{"http://evil@localhost:9121", "", false, true},
        Case{"file://localhost:9121", "", false, true}, Case{"http://", "", false, true},
        Case{"null", "", false, true}}) {
    HttpRequest request;
    request.host = "localhost:9121";
    request.origin = each.origin;
    request.fetch_site = each.site;
    EXPECT_EQ(IsFromOwnPage(request), each.own) << each.origin << ' ' << each.site;
    EXPECT_EQ(IsFromElsewhere(request), each.elsewhere) << each.origin << ' ' << each.site;
  }
}

}  // namespace
}  // namespace sluice
