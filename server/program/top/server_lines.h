// ServerLines: the parts of the picture that tell of the server as a whole, out of what it answers
// to INFO and SLOWLOG. What does not fit in a line goes on in the next; a bar leaves its last parts
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/program/top/facts.h"
#include "server/program/top/screen_line.h"

namespace sluice {

class ServerLines {
 public:
  // The facts must outlive it. `before` is of the same server, for rates; null: totals are shown.
  ServerLines(const TopFacts& facts, const TopFacts* before, size_t columns, TerminalText terminal)
      : facts_(facts),
        info_(facts.info),
        before_(before ? &before->info : nullptr),
        passed_ms_(before ? facts.at_ms - before->at_ms : 0),
        columns_(columns),
        terminal_(terminal) {}

  using Lines = std::vector<ScreenLine>;

  ScreenLine Title() const;
  Lines Clients() const;
  Lines Turns() const;
  Lines Disk() const;
  Lines LimitsBar() const;
  // A line for each that was ever asked for; those that refused most stand first.
  Lines Algorithms() const;
  Lines LocksBar() const;
  // The bar and so many entries; none if there are no entries.
  Lines Slow(size_t entries_max) const;

 private:
  RowText Row() const { return RowText(columns_, terminal_); }
  Lines Said(std::string_view label, std::span<const std::string> parts,
             Tone tone = Tone::kPlain) const;
  ScreenLine Bar(std::string_view label, std::span<const std::string> parts) const;
  int64_t Number(std::string_view field) const { return info_.NumberOr0(field); }
  std::string Count(std::string_view field) const;
  std::string Counted(std::string_view what, int64_t now, std::optional<int64_t> before) const;
  std::string Counted(std::string_view what, std::string_view field) const;
  std::string LogText() const;
  std::string SnapshotText() const;

  const TopFacts& facts_;
  const InfoFields& info_;
  const InfoFields* const before_;
  const int64_t passed_ms_;
  const size_t columns_;
  const TerminalText terminal_;
};

}  // namespace sluice
