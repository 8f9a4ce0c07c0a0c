// Spaces: the private servers inside one process, as the commands of a test double see them
// (SLUICE.SPACE, SLUICE.RESET, AUTH space:name). Each space is an engine of its own: data, clock,
// scripts, subscriptions, statistics, random choices. The program that holds them (server/net)
// implements this; an engine knows only the space that it is.
//
// A client that enters another space is blocked until the turn has ended. Then its connection is
// given to the other engine, as a new client there, and what it sent behind that request follows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/dispatch/command.h"

namespace sluice {

class Spaces {
 public:
  // That of a client that has chosen none.
  static constexpr std::string_view kDefault = "default";
  static constexpr size_t kNameBytesMax = 256;
  static constexpr size_t kCountMax = 200'000;

  struct Info {
    std::string name;
    size_t keys = 0;
    size_t clients = 0;
    int port = 0;  // of SLUICE.SPACE LISTEN; 0: none
  };

  virtual ~Spaces() = default;
  // The space that this engine is.
  virtual std::string_view name() const = 0;
  // Has the caller's client enter the space `name`, which is made if it is missing, and ask there
  // for what this call asks for. A sentence why it cannot, or empty: then the call is not answered
  // here.
  virtual Fault Enter(CommandCall& call, std::string_view name) = 0;
  virtual std::vector<Info> List() = 0;
  // Its clients are closed. False: there is no such space.
  virtual bool Delete(std::string_view name) = 0;
  // Everything of `from`, its clients excepted, in place of all that is in `to`. A sentence why it
  // cannot be, or empty.
  virtual Fault Copy(std::string_view from, std::string_view to) = 0;
  // Whoever connects to that port of the loopback address is in the space. Below zero: `fault` says
  // why not.
  virtual int Listen(std::string_view name, std::string& fault) = 0;
  // This space is as it was after its start; its clients stay. The caller is answered OK then. A
  // sentence why it cannot be, or empty.
  virtual Fault Reset(CommandCall& call) = 0;
};

// Why there can be no space of that name, or empty.
inline std::string SpaceNameFault(std::string_view name) {
  if (name.empty()) return "ERR a space has a name";
  if (name.size() > Spaces::kNameBytesMax) return "ERR the name of a space has at most 256 bytes";
  for (const char c : name) {
    if (c <= ' ' || c == 127) return "ERR the name of a space has no blanks and no control bytes";
  }
  return {};
}

}  // namespace sluice
