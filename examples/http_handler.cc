// A rate-limited HTTP handler: 5 requests a second for each client, with the headers that say so.
//
//   ./http_handler 8080            serves
//   curl -i http://127.0.0.1:8080/
//
// One thread, one poll(2). The database is told of the time when its next deadline has come, so
// that what it knows of clients that stay away goes.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/database.h"

using namespace std::chrono_literals;

namespace {

constexpr int64_t kPerSecond = 5;

std::string Number(int64_t number) { return std::to_string(number); }

// The whole response to a request of that client.
std::string Respond(sluice::Database& db, const std::string& client) {
  const sluice::Verdict verdict = db.Take("http:" + client, sluice::Rolling{kPerSecond, 1s});
  const int64_t reset_s = (verdict.reset_after.count() + 999) / 1000;
  std::string head = "RateLimit-Policy: \"default\";q=" + Number(verdict.limit) + ";w=1\r\n" +
                     "RateLimit: \"default\";r=" + Number(verdict.remaining) +
                     ";t=" + Number(reset_s) + "\r\nConnection: close\r\n";
  if (verdict) return "HTTP/1.1 200 OK\r\n" + head + "Content-Length: 6\r\n\r\nhello\n";
  if (verdict.retry_after)  // it will fit some time
    head += "Retry-After: " + Number((verdict.retry_after->count() + 999) / 1000) + "\r\n";
  return "HTTP/1.1 429 Too Many Requests\r\n" + head + "Content-Length: 9\r\n\r\nslow down";
}

int Milliseconds(sluice::Database& db) {
  const std::optional<sluice::Time> next = db.NextDeadline();
  if (!next) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*next - db.Now());
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 60'000));
}

int Serve(int port) {
  sluice::Database db;
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(listener, 64) < 0) {
    std::perror("http_handler");
    return 1;
  }
  while (true) {
    pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, Milliseconds(db));
    db.RunUntil(db.Now());
    if (!(ready.revents & POLLIN)) continue;
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    const int connection = ::accept(listener, reinterpret_cast<sockaddr*>(&peer), &length);
    if (connection < 0) continue;
    char request[4096];
    if (::read(connection, request, sizeof request) > 0) {
      const std::string response = Respond(db, inet_ntoa(peer.sin_addr));
      if (::write(connection, response.data(), response.size()) < 0) std::perror("http_handler");
    }
    ::close(connection);
  }
}

// The sixth request of a second is refused, and a second later all is well.
int SelfTest() {
  sluice::ManualTime time;
  std::string fault;
  auto db = sluice::Database::Open({.time = &time}, fault);
  if (!db) return 1;
  for (int i = 0; i < kPerSecond; ++i) {
    if (!Respond(*db, "1.2.3.4").starts_with("HTTP/1.1 200")) return 1;
  }
  if (!Respond(*db, "1.2.3.4").starts_with("HTTP/1.1 429")) return 1;
  if (!Respond(*db, "5.6.7.8").starts_with("HTTP/1.1 200")) return 1;
  db->RunUntil(db->Now() + 1s);
  return Respond(*db, "1.2.3.4").starts_with("HTTP/1.1 200") ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--self-test") return SelfTest();
  return Serve(argc > 1 ? std::atoi(argv[1]) : 8080);
}
