// Requests of HTTP out of bytes, however they are cut, and what is refused of them.
#include "server/net/http/request_reader.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using Found = RequestReader::Found;

constexpr std::string_view kGet =
    "GET /metrics?a=b HTTP/1.1\r\nHost: localhost:9121\r\nAccept: text/plain\r\n"
    "Authorization: Bearer x\r\n\r\n";
constexpr std::string_view kPost =
    "POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nOrigin: http://h\r\n"
    "Content-Length: 4\r\n\r\nbody";

TEST(RequestReader, CutAtEveryPoint) {
  const std::string both = std::string(kGet) + std::string(kPost);
  for (size_t cut = 0; cut <= both.size(); ++cut) {
    RequestReader reader;
    std::vector<HttpRequest> requests;
    for (const std::string_view piece :
         {std::string_view(both).substr(0, cut), std::string_view(both).substr(cut)}) {
      reader.Feed(piece);
      HttpRequest request;
      while (reader.Next(request) == Found::kRequest) requests.push_back(request);
    }
    ASSERT_EQ(requests.size(), 2u) << cut;
    EXPECT_EQ(requests[0].method + requests[0].path + requests[0].query, "GET/metricsa=b");
    EXPECT_EQ(requests[0].host + requests[0].accept + requests[0].authorization,
              "localhost:9121text/plainBearer x");
    EXPECT_EQ(requests[1].method + requests[1].path + requests[1].body, "POST/xbody");
    EXPECT_EQ(requests[1].origin + requests[1].content_type, "http://happlication/json");
    EXPECT_FALSE(reader.is_inside());
    EXPECT_EQ(reader.fault(), 0);
  }
}

int FaultOf(const std::string& bytes) {
  RequestReader reader;
  HttpRequest request;
  reader.Feed(bytes);
  while (reader.Next(request) == Found::kRequest) {
  }
  return reader.fault();
}

TEST(RequestReader, Faults) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(FaultOf("garbage\r\n\r\n"), 400);
  EXPECT_EQ(FaultOf(std::string(64, '\0')), 400);
  EXPECT_EQ(FaultOf("GET / HTTP/1.1\r\n\r\n"), 400);  // no name
  EXPECT_EQ(FaultOf(head + "Host: h\r\n\r\n"), 400);  // two
  EXPECT_EQ(FaultOf(head + "Authorization: a\r\nAuthorization: b\r\n\r\n"), 400);
  EXPECT_EQ(FaultOf("GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(FaultOf("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(FaultOf(head + "X: " + std::string(9000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(FaultOf("GET /" + std::string(RequestReader::kWaitingBytesMax, 'a')), 431);
  EXPECT_EQ(FaultOf(head + "Content-Length: 20000\r\n\r\n"), 413);
  EXPECT_EQ(FaultOf(head + "Content-Length: x\r\n\r\n"), 400);
  EXPECT_EQ(FaultOf(head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 400);
  EXPECT_EQ(FaultOf(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400);
}

TEST(RequestReader, WhoWantsTheEnd) {
  const auto wants_close = [](std::string_view bytes) {
    RequestReader reader;
    HttpRequest request;
    reader.Feed(bytes);
    EXPECT_EQ(reader.Next(request), Found::kRequest);
    return reader.wants_close();
  };
  EXPECT_FALSE(wants_close("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(wants_close("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(wants_close("GET / HTTP/1.0\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(wants_close("GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(wants_close("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"));
}

}  // namespace
}  // namespace sluice
