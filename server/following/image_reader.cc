// See image_reader.h. Log lines are Redis's.
#include "server/following/image_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

constexpr std::string_view kMarkHead = "$EOF:";
constexpr size_t kShownBytesMax = 128;

}  // namespace

size_t ImageReader::Take(std::string_view bytes, std::string& file) {
  size_t taken = 0;
  while (taken < bytes.size() && (state_ == State::kHead || state_ == State::kBytes)) {
    const std::string_view rest = bytes.substr(taken);
    const bool is_head = state_ == State::kHead;
    const size_t more = is_head      ? TakeHead(rest)
                        : has_mark() ? TakeMarked(rest, file)
                                     : TakeMeasured(rest, file);
    if (more == 0) break;
    taken += more;
  }
  return taken;
}

size_t ImageReader::TakeHead(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (std::min(end, bytes.size()) > kHeadBytesMax) {
    Fail("Bad protocol from MASTER, the head of its RDB file does not end");
    return 0;
  }
  if (end == bytes.npos) return 0;
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) ReadHead(line);
  return end + 1;
}

void ImageReader::ReadHead(std::string_view line) {
  if (line.starts_with('-'))
    return Fail(Concat("MASTER aborted replication with an error: ",
                       EscapedText(line.substr(1), kShownBytesMax)));
  if (!line.starts_with('$')) {
    return Fail(Concat("Bad protocol from MASTER, the first byte is not '$' (we received '",
                       EscapedText(line, kShownBytesMax),
                       "'), are you sure the host and port are right?"));
  }
  if (line.starts_with(kMarkHead)) {
    mark_ = line.substr(kMarkHead.size());
    if (mark_.size() != kMarkBytes)
      return Fail("Bad protocol from MASTER, the mark behind its RDB file has not 40 bytes");
    state_ = State::kBytes;
    return;
  }
  const std::optional<int64_t> total = ParseInt64(line.substr(1));
  if (!total || *total < 0 || *total > kImageBytesMax)
    return Fail("Bad protocol from MASTER, its RDB file has a length that no file has");
  total_ = static_cast<uint64_t>(*total);
  state_ = total_ > 0 ? State::kBytes : State::kEnd;
}

size_t ImageReader::TakeMeasured(std::string_view bytes, std::string& file) {
  const auto taken = static_cast<size_t>(std::min<uint64_t>(bytes.size(), total_ - received_));
  file.append(bytes.substr(0, taken));
  received_ += taken;
  if (received_ == total_) state_ = State::kEnd;
  return taken;
}

size_t ImageReader::TakeMarked(std::string_view bytes, std::string& file) {
  received_ += bytes.size();
  tail_.append(bytes);
  if (tail_.size() > kMarkBytes) {
    const size_t known = tail_.size() - kMarkBytes;
    file.append(tail_, 0, known);
    tail_.erase(0, known);
  }
  if (tail_ == mark_) {
    state_ = State::kEnd;
  } else if (received_ > static_cast<uint64_t>(kImageBytesMax)) {
    Fail("Bad protocol from MASTER, its RDB file does not end");
  }
  return bytes.size();
}

void ImageReader::Fail(std::string fault) {
  state_ = State::kFault;
  fault_ = std::move(fault);
}

}  // namespace sluice
