// SLUICE.JOURNAL EXPECT: whether requests came that match so many patterns, each another request,
// in any order or in that of the patterns. If not: a sentence made for reading.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "protocol/args.h"
#include "protocol/text/glob.h"
#include "server/test_double/journal.h"

namespace sluice {

// A pattern of a whole request: "SET lock:* * NX PX *". The case of the command's name, and of a
// subcommand's, does not matter.
class RequestGlob {
 public:
  static constexpr size_t kBytesMax = 512;
  // So much of a request's line is compared.
  static constexpr size_t kLineBytesMax = 8192;

  explicit RequestGlob(std::string_view pattern);
  bool Matches(const JournalEntry& entry, std::string_view line) const;

 private:
  Glob of_command_;
  Glob of_subcommand_;
};

inline constexpr size_t kExpectedMax = 100;  // patterns

// A sentence what was not found, or empty. Requires: at most kExpectedMax patterns.
std::string Expect(const Journal& journal, Args patterns, bool in_order);

}  // namespace sluice
