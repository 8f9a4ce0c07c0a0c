// Sources: how many connections there are from each address, for `maxclients-per-ip`. In IPv6 a
// source is a /64 network: a machine that has one address of it has all.
//
//   Sources::Place place = sources.Take(descriptor);   // counts until it goes
//   sources.CountOf(descriptor)                        // of that peer's source
//
// O(log sources) a call. Unix sockets have no source.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace sluice {

class Sources {
  using Address = std::array<uint8_t, 16>;  // IPv4 is mapped into IPv6
  struct Source {
    Sources& all;
    Address address;
    size_t connections = 0;
  };

  struct Leave {
    void operator()(Source* source) const;
  };

 public:
  // Must go before the Sources do.
  using Place = std::unique_ptr<Source, Leave>;

  Sources() = default;
  Sources(const Sources&) = delete;

  Place Take(int descriptor);
  size_t CountOf(int descriptor) const;

 private:
  static bool AddressOf(int descriptor, Address& address);

  std::map<Address, Source> sources_;
};

}  // namespace sluice
