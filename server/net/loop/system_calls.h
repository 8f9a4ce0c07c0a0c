// The three system calls of a small request, as recv, send and epoll_wait, but no points at which a
// thread may be cancelled: once a process has a second thread the C library makes each call one,
// with two atomic operations and some 55 instructions around it. No thread here is ever cancelled.
#pragma once

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace sluice {

inline ssize_t ReceiveBytes(int socket, void* into, size_t bytes) {
  return ::syscall(SYS_recvfrom, socket, into, bytes, 0, nullptr, nullptr);
}

inline ssize_t SendBytes(int socket, const void* from, size_t bytes, int flags) {
  return ::syscall(SYS_sendto, socket, from, bytes, flags, nullptr, 0);
}

// `timeout_ms`: -1 waits as long as it takes.
inline int AwaitEvents(int set, epoll_event* events, int most, int timeout_ms) {
  return static_cast<int>(::syscall(SYS_epoll_pwait, set, events, most, timeout_ms, nullptr, 0));
}

}  // namespace sluice
