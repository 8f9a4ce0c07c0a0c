// A replica that keeps nothing: it takes a full sync, says that it is a Sluice, and acknowledges
// each piece of the stream as it comes, with one epoll_wait, one recv and one send. So it shows what
// waiting for any replica costs on this machine.
//
//   bare_replica PORT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { kMarkSize = 40 };

static char buffer[1 << 20];

static int connect_to(int port) {
  const int link = socket(AF_INET, SOCK_STREAM, 0);
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((unsigned short)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  if (connect(link, (const struct sockaddr*)&address, sizeof address) != 0) exit(1);
  setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return link;
}

static size_t receive(int link, char* into, size_t room) {
  const ssize_t came = recv(link, into, room, 0);
  if (came <= 0) exit(0);
  return (size_t)came;
}

// Returns the offset of the stream that has been taken.
static long follow(int link) {
  static const char capabilities[] = "REPLCONF capa eof capa sluice\r\n";
  static const char sync[] = "PSYNC ? -1\r\n";
  send(link, capabilities, sizeof capabilities - 1, MSG_NOSIGNAL);
  receive(link, buffer, sizeof buffer);  // +OK
  send(link, sync, sizeof sync - 1, MSG_NOSIGNAL);
  size_t size = 0;
  for (;;) {
    size += receive(link, buffer + size, sizeof buffer - 1 - size);
    buffer[size] = 0;
    const char* const mark = memmem(buffer, size, "$EOF:", 5);
    const char* const image = mark ? mark + 5 + kMarkSize : NULL;
    if (!image || image > buffer + size) continue;
    const char* const end = memmem(image, size - (size_t)(image - buffer), mark + 5, kMarkSize);
    if (!end) continue;
    const char* const id = strstr(buffer, "+FULLRESYNC ") + strlen("+FULLRESYNC ");
    return atol(strchr(id, ' ')) + (buffer + size - (end + kMarkSize));
  }
}

static void acknowledge(int link, long offset) {
  char number[24], words[80];
  const int digits = snprintf(number, sizeof number, "%ld", offset);
  const int size = snprintf(words, sizeof words, "*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$%d\r\n%s\r\n",
                            digits, number);
  send(link, words, (size_t)size, MSG_NOSIGNAL);
}

int main(int count, char** words) {
  if (count != 2) return 2;
  const int link = connect_to(atoi(words[1]));
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(set, EPOLL_CTL_ADD, link, &event);
  for (long offset = follow(link);; offset += (long)receive(link, buffer, sizeof buffer)) {
    acknowledge(link, offset);
    epoll_wait(set, &event, 1, -1);
  }
}
