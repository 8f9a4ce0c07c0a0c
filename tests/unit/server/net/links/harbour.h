// Harbour: what links go to in tests: a listening socket of this machine, whose accepted ends the
// test holds.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace sluice {

// On a free port of 127.0.0.1.
class Harbour {
 public:
  explicit Harbour(int backlog = 16) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Local(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(::listen(descriptor_, backlog), 0);
    port = ntohs(address.sin_port);
  }
  Harbour(const Harbour&) = delete;
  ~Harbour() {
    Close();
    for (const int client : clients_) ::close(client);
  }
  void Close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  bool has_waiting() const {
    pollfd waiting{.fd = descriptor_, .events = POLLIN};
    return ::poll(&waiting, 1, 0) == 1;
  }
  // Waits for the next one. Its blocking socket, which is closed with this.
  int Accept() {
    clients_.push_back(::accept(descriptor_, nullptr, nullptr));
    return clients_.back();
  }
  // As many clients as there is room for in the queue: the next one gets no answer.
  void Fill() {
    for (int i = 0; i < 4; ++i) {
      clients_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      const sockaddr_in address = Local(port);
      ::connect(clients_.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
  }
  int port = 0;

 private:
  static sockaddr_in Local(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int descriptor_;
  std::vector<int> clients_;
};

}  // namespace sluice
