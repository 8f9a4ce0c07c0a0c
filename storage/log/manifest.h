// Manifest: which files the append-only log consists of, in the order in which they are to be
// loaded, as Redis 7 writes it down:
//
//   file appendonly.aof.2.base.rdb seq 2 type b      at most one base: the state at a moment
//   file appendonly.aof.1.incr.aof seq 1 type h      history: replaced, to be removed
//   file appendonly.aof.3.incr.aof seq 3 type i      increments: what was written since, in order
//
// Names are of files beside the manifest: one with a slash, or "..", makes it invalid. Lines that
// begin with '#' are comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"

namespace sluice {

// A plain value. ReadManifest makes sure that its order can be loaded; a manifest made here is
// believed.
struct Manifest {
  static constexpr size_t kBytesMax = 1024 * 1024;  // of its file

  enum class Kind : char { kBase = 'b', kHistory = 'h', kIncrement = 'i' };
  struct File {
    std::string name;
    int64_t number = 0;
    Kind kind = Kind::kIncrement;
    bool operator==(const File&) const = default;
  };
  std::vector<File> files;  // history, base, increments

  const File* base() const;
  std::vector<File> increments() const;
  int64_t NextNumber(Kind kind) const;
  bool operator==(const Manifest&) const = default;
};

// The fault as a sentence with its line, or empty.
Fault ReadManifest(std::string_view text, Manifest& manifest);
std::string WriteManifest(const Manifest& manifest);

}  // namespace sluice
