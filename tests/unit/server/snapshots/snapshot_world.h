// What tests of snapshots share: servers on a disk that outlives them, and what is on it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace sluice {

using ConfigWords = std::vector<std::pair<std::string, std::string>>;

inline TestEngine::Options With(MemoryDisk& disk, ConfigWords config = {}) {
  TestEngine::Options options;
  options.disk = &disk;
  options.config = std::move(config);
  return options;
}

// Of a server that starts with these files.
inline std::string Get(MemoryDisk& disk, const std::string& key, ConfigWords config = {}) {
  TestEngine again(With(disk, std::move(config)));
  again.Settle();
  if (again.shutdown_code()) return "does not start";
  return again.Connect().Run({"GET", key}).ToText();
}

// A field of INFO persistence.
inline std::string Info(TestEngine& server, const std::string& field) {
  const std::string text = server.Connect().Run({"INFO", "persistence"}).text;
  const size_t at = text.find(field + ":");
  if (at == std::string::npos) return "none";
  const size_t begin = at + field.size() + 1;
  return text.substr(begin, text.find('\r', begin) - begin);
}

inline bool Logged(const TestEngine& server, const std::string& words) {
  return std::ranges::any_of(
      server.log(), [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

inline bool AnyTemporary(const MemoryDisk& disk) {
  for (const auto& [path, bytes] : disk.files)
    if (path.find("temp-") != std::string::npos) return true;
  return false;
}

}  // namespace sluice
