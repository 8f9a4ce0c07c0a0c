// See fence_file.h.
#include "server/locks/fence_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "storage/locks/fence.h"
#include "xxhash.h"

namespace sluice {
namespace {

constexpr std::string_view kDoubt = "doubt ";
constexpr std::string_view kUnsure = " unsure";
// A bare number without a checksum counts only from here on: tokens start from the time in µs.
constexpr int64_t kLeastInMicros = 1'000'000'000'000'000;

// XXH3-64 as 16 hex digits. It guards against a torn or edited file, not against an attacker.
std::string Checksum(std::string_view bytes) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
  return digits;
}

// The number before the next space, which is taken off; none: there is no such number.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  const size_t end = text.find(' ');
  const std::optional<int64_t> number = ParseInt64(text.substr(0, end));
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return number && *number >= 0 ? number : std::nullopt;
}

// Reads the mark of a server that wrote no horizon.
bool ReadOldMark(std::string_view text, int64_t& mark) {
  const std::optional<int64_t> number = ParseInt64(text.substr(0, text.find_first_of(" \n")));
  if (!number || *number < 0 || *number > kTokenMax) return false;
  mark = *number;
  const std::string digits = Concat(mark);
  if (text == Concat(digits, " ", Checksum(digits), "\n")) return true;
  return text.find(' ') == text.npos && mark >= kLeastInMicros;
}

}  // namespace

std::string FenceText(const FenceContent& content) {
  const std::string doubt =
      content.doubted == 0 ? std::string() : Concat(" ", kDoubt, content.doubted);
  const std::string said =
      Concat(content.mark, " ", content.horizon_unix_ms, " ", content.held_back_until_unix_ms,
             doubt, content.is_unsure ? kUnsure : std::string_view());
  return Concat(said, " ", Checksum(said), "\n");
}

bool ReadFenceText(std::string_view text, FenceContent& content) {
  if (ReadOldMark(text, content.mark)) return true;
  std::string_view left = text;
  for (int64_t* const into :
       {&content.mark, &content.horizon_unix_ms, &content.held_back_until_unix_ms}) {
    const std::optional<int64_t> number = TakeNumber(left);
    if (!number) return false;
    *into = *number;
  }
  if (left.starts_with(kDoubt)) {
    left.remove_prefix(kDoubt.size());
    const std::optional<int64_t> number = TakeNumber(left);
    if (!number) return false;
    content.doubted = *number;
  }
  content.is_unsure = left.starts_with(kUnsure.substr(1));
  return content.mark <= kTokenMax && text == FenceText(content);
}

FenceFile::Found FenceFile::Read(FenceContent& content, std::string& why) const {
  std::string text;
  const int fault = disk_.Read(path_, text);
  if (fault == ENOENT) return Found::kNothing;
  if (fault == 0 && ReadFenceText(text, content)) return Found::kSound;
  why = fault ? std::strerror(fault)
              : "it is damaged; without it tokens start far ahead of the clock";
  return Found::kUseless;
}

void FenceFile::Write(const FenceContent& content, std::function<void()> done) {
  is_writing_ = true;
  job_ = host_.background().Run(
      WorkerLane::kLog, [this, text = FenceText(content)] { fault_ = disk_.Replace(path_, text); },
      [this, done = std::move(done)] {
        is_writing_ = false;
        done();
      });
}

void FenceFile::Await() {
  if (is_writing_) host_.background().Await(job_);
}

}  // namespace sluice
