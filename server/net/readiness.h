// Readiness: tells the program that started this one that clients are served now, and where: in a
// file, on a descriptor, in a line on standard output, as the options ask for. Each is for a
// program that waits for nothing but it, so each comes as a whole, and once:
//
//   --port-file FILE   "41873\n"; appears under its name when it is written, and goes with the end
//   --ready-fd N       "ready on 127.0.0.1:41873\n", and the descriptor is closed
//   --ready-line yes   the same line on standard output, which gets nothing else
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "protocol/text/fault.h"
#include "server/config/settings.h"

namespace sluice {

class Readiness {
 public:
  // Takes the descriptors while they are the caller's: before anything else is opened, and before
  // the process goes into the background. fault() says why it cannot. `has_predecessor`: a server
  // that makes way for this one has told already, so that only the file is written anew.
  Readiness(const Settings& settings, bool has_predecessor);
  ~Readiness();
  Readiness(const Readiness&) = delete;

  const std::string& fault() const { return fault_; }
  // Where the log goes when no file is named.
  std::FILE* log_output() const { return log_output_; }
  // `address` is where a client can connect; `port` 0: there is none. A sentence about the file
  // that cannot be written, or empty.
  Fault Tell(const std::string& address, int port);
  // The file is another process's from now on.
  void GiveAway() { has_file_ = false; }

 private:
  void Take(int given, std::string_view option, int& copy);
  Fault WriteFile(int port);

  const std::string path_;
  std::FILE* log_output_ = stdout;
  int descriptor_ = -1;  // both are copies
  int line_ = -1;
  bool has_file_ = false;
  std::string fault_;
};

}  // namespace sluice
