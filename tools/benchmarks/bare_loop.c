// A server that keeps nothing: it reads what has come and answers each request +OK, with one
// epoll_wait for all clients and one recv and one send for each. So it shows what a request costs
// on this machine whatever a server does with it.
//
// bare_loop --port PORT ...    (further arguments, which are another server's, mean nothing)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kEventsMax = 256, kReadBytes = 16 * 1024, kAnswerBytes = 5 };

static char request[kReadBytes];
static char answers[kReadBytes * kAnswerBytes];

static int listen_on(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((unsigned short)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (const struct sockaddr*)&address, sizeof address) != 0) exit(1);
  if (listen(listener, 64) != 0) exit(1);
  return listener;
}

static void watch(int set, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

static void take(int set, int listener) {
  const int on = 1;
  const int client = accept(listener, NULL, NULL);
  if (client < 0) return;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  watch(set, client);
}

// Each request begins with the only asterisk in it.
static size_t requests_in(const char* bytes, size_t size) {
  size_t count = 0;
  const char* const end = bytes + size;
  while ((bytes = memchr(bytes, '*', (size_t)(end - bytes)))) {
    ++count;
    if (++bytes == end) break;
  }
  return count;
}

static void answer(int client) {
  const ssize_t came = recv(client, request, sizeof request, 0);
  if (came <= 0) {
    close(client);
    return;
  }
  const size_t count = requests_in(request, (size_t)came);
  send(client, answers, count * kAnswerBytes, MSG_NOSIGNAL);
}

int main(int count, char** words) {
  int port = 0;
  for (int i = 1; i + 1 < count; ++i) {
    if (strcmp(words[i], "--port") == 0) port = atoi(words[i + 1]);
  }
  for (size_t at = 0; at < sizeof answers; at += kAnswerBytes) memcpy(answers + at, "+OK\r\n", kAnswerBytes);
  const int set = epoll_create1(0);
  const int listener = listen_on(port);
  watch(set, listener);
  for (;;) {
    struct epoll_event events[kEventsMax];
    const int ready = epoll_wait(set, events, kEventsMax, -1);
    for (int i = 0; i < ready; ++i) {
      events[i].data.fd == listener ? take(set, listener) : answer(events[i].data.fd);
    }
  }
}
