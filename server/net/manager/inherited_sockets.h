// InheritedSockets: sockets that listen already when the server starts, as systemd hands them over
// (LISTEN_FDS): clients who come while the server starts, or is started anew, wait in their queue
// and are not refused.
//
// LISTEN_FDNAMES tells what each is for: `tls` takes TLS, `http` the pages, any other name plain
// clients. Descriptors are taken once; a process that is not the one of LISTEN_PID takes none. A
// server that makes way for this process hands its sockets over in the same way, and says no
// LISTEN_PID: it starts no other process with that environment.
#pragma once

#include <string>
#include <vector>

namespace sluice {

struct InheritedSocket {
  int descriptor;  // the caller's; not passed on to programs that are started
  std::string name;
};

// Bounded: what is beyond 64 is left alone.
std::vector<InheritedSocket> TakeInheritedSockets(bool has_predecessor);

}  // namespace sluice
