// What a server with leases and counters should answer, written as plainly as can be: the other
// half of the network simulation. Knows SET (NX, PX), GET, INCR, DEL, PEXPIRE, PTTL, EXISTS and
// ECHO, as bytes of RESP2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class LeaseModel {
 public:
  // The reply of a request that is run at `now_ms`.
  std::string Run(const std::vector<std::string>& arguments, int64_t now_ms);

 private:
  struct Held {
    std::string text;
    std::optional<int64_t> until_ms;
  };
  Held* Find(const std::string& key, int64_t now_ms);
  std::string Set(const std::vector<std::string>& arguments, int64_t now_ms);
  std::string Increment(const std::string& key, int64_t now_ms);

  std::map<std::string, Held> held_;
};

}  // namespace sluice
