// See made_up_master.h.
#include "tests/support/made_up_master.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "protocol/text/letters.h"

namespace sluice {
namespace {

// Without a key; its checksum of 0 means none.
constexpr std::string_view kEmptyFile("REDIS0010\xff\0\0\0\0\0\0\0\0", 18);

bool IsReadable(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return poll(&waiting, 1, MadeUpMaster::kTimeoutMs) > 0;
}

}  // namespace

MadeUpMaster::MadeUpMaster() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, plain, size) == 0 && listen(listener_, 1) == 0 &&
      getsockname(listener_, plain, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
}

MadeUpMaster::~MadeUpMaster() {
  if (link_ >= 0) close(link_);
  if (listener_ >= 0) close(listener_);
}

bool MadeUpMaster::Accept() {
  if (!IsReadable(listener_)) return false;
  link_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  // A question follows the bytes that it is about, and would wait for their acknowledgement by TCP.
  const int on = 1;
  setsockopt(link_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  while (const std::optional<Reply> request = Read()) {
    const std::string word = UpperCase(request->elements.at(0).text);
    if (word == "PSYNC") {
      const std::string id(40, 'a');
      return Write("+FULLRESYNC " + id + " 0\r\n$" + std::to_string(kEmptyFile.size()) + "\r\n") &&
             Write(kEmptyFile);
    }
    if (word != "PING" && word != "REPLCONF") return false;
    if (!Write(word == "PING" ? "+PONG\r\n" : "+OK\r\n")) return false;
  }
  return false;
}

bool MadeUpMaster::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(link_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool MadeUpMaster::Send(std::string_view bytes) {
  offset_ += static_cast<int64_t>(bytes.size());
  return Write(bytes);
}

// The offset that it names is that before the question.
bool MadeUpMaster::AwaitApplied() {
  const int64_t applied = offset_;
  if (!Send("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n")) return false;
  while (const std::optional<Reply> request = Read()) {
    const auto& words = request->elements;
    if (words.size() >= 3 && words[1].text == "ACK" &&
        std::strtoll(words[2].text.c_str(), nullptr, 10) >= applied) {
      return true;
    }
  }
  return false;
}

std::optional<Reply> MadeUpMaster::Read() {
  while (true) {
    ReplyReader reader;
    std::optional<Reply> request = reader.Read(received_);
    if (request) received_.erase(0, reader.consumed());
    if (request || reader.failed()) return request;
    if (!IsReadable(link_)) return std::nullopt;
    char buffer[4096];
    const ssize_t got = recv(link_, buffer, sizeof(buffer), 0);
    if (got <= 0) return std::nullopt;
    received_.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace sluice
