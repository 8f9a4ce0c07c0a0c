// See fence_mark.h.
#include "server/locks/fence_mark.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "xxhash.h"

namespace sluice {
namespace {

constexpr int64_t kTokensReady = 1'000'000;
constexpr int64_t kLeastInMicros = 1'000'000'000'000'000;

std::string WithChecksum(int64_t mark) {
  const std::string digits = Concat(mark);
  char checksum[17];
  std::snprintf(checksum, sizeof checksum, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(digits.data(), digits.size())));
  return Concat(digits, " ", checksum, "\n");
}

// Null: it is no mark.
std::optional<int64_t> ReadMark(std::string_view text) {
  const size_t end = text.find_first_of(" \n");
  const std::optional<int64_t> mark = ParseInt64(text.substr(0, end));
  if (!mark || *mark < 0 || *mark > kTokenMax) return std::nullopt;
  if (text == WithChecksum(*mark)) return mark;
  const bool without = text.find(' ') == text.npos;
  return without && *mark >= kLeastInMicros ? mark : std::nullopt;
}

}  // namespace

void FenceMark::Load() {
  loaded_ = true;
  const std::string& path = config_.settings().fence_mark_file;
  if (path.empty()) return tokens_.set_mark(kTokenMax);
  std::string text;
  const int fault = config_.disk().Read(path, text);
  if (fault == ENOENT) {
    tokens_.StartAhead(clock_.now());
    return memory_.RaiseFloor(tokens_.last());
  }
  const std::optional<int64_t> mark = fault ? std::nullopt : ReadMark(text);
  if (mark) {
    tokens_.JumpPast(*mark);
    return memory_.RaiseFloor(*mark);
  }
  // Without it a number might be given twice: better none at all.
  damaged_ = true;
  host_.Log(3, Concat("no locks can be taken: ", path, " cannot be read: ",
                      fault ? std::strerror(fault)
                            : "it is damaged; without it tokens "
                              "start far ahead of the clock"));
}

void FenceMark::Ensure() {
  const Now& now = clock_.now();
  if (tokens_.CanIssue(now, kTokensReady)) [[likely]]
    return;
  if (!loaded_) Load();
  if (damaged_ || tokens_.Next(now) == 0 || tokens_.CanIssue(now, kTokensReady)) return;
  const int64_t mark = tokens_.MarkFor(now, kTokensReady);
  if (mark <= tokens_.mark()) return;
  const std::string& path = config_.settings().fence_mark_file;
  const int fault = config_.disk().Replace(path, WithChecksum(mark));
  if (fault == 0) return tokens_.set_mark(mark);
  host_.Log(3,
            Concat("no locks can be taken: ", path, " cannot be written: ", std::strerror(fault)));
}

}  // namespace sluice
