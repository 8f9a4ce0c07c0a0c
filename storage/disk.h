// Disk: files as everything below server/net sees them, so that a test can use memory, refuse a
// write or break off in the middle of one. What is not here yet (appending, syncing a log) belongs
// here when it comes.
//
// Functions answer 0 or an errno value; paths are the system's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Disk {
 public:
  virtual ~Disk() = default;
  // The whole file into `bytes`. EISDIR for a directory.
  virtual int Read(const std::string& path, std::string& bytes) = 0;
  // Makes `bytes` the file's content: after a crash it is the old or the new one, and on return the
  // new one is durable. Permissions of an old file are kept.
  virtual int Replace(const std::string& path, std::string_view bytes) = 0;
  // What the shell's pattern matches, sorted; nothing is no error.
  virtual std::vector<std::string> Match(const std::string& pattern) = 0;
  // Independent of later changes of the working directory.
  virtual std::string Absolute(const std::string& path) = 0;
};

}  // namespace sluice
