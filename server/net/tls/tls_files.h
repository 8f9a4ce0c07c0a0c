// TlsFiles: tells when the files that the options tls-* name are others than before: a certificate
// that was renewed counts without a signal to the server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "server/config/settings.h"

namespace sluice {

class TlsFiles {
 public:
  // Remembers the files as they are now. True: one is another than when it was last looked at, or
  // was written to since. One that is not there, or has just been named, counts as unchanged. The
  // folder of authorities changes with its list alone. One stat a file.
  bool Look(const Settings& settings);

 private:
  using State =
      std::tuple<uint64_t, uint64_t, int64_t, int64_t>;  // device, inode, size, written ns
  std::map<std::string, State> seen_;                    // by path
};

}  // namespace sluice
