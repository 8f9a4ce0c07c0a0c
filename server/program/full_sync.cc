// See full_sync.h.
#include "server/program/full_sync.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

constexpr size_t kPieceBytesOfSync = 1024 * 1024;
constexpr std::string_view kEndMarkWord = "EOF:";
constexpr size_t kEndMarkBytes = 40;
constexpr size_t kToldBytesMax = 200;  // of what the peer says

class FullSyncFetch {
 public:
  FullSyncFetch(RedisLink& link, const std::string& server, DiskFile& file)
      : link_(link), server_(server), file_(file) {}

  Fault Run(uint64_t& bytes) {
    // Servers that know less of it answer errors, and send what every replica takes.
    const bool is_heard =
        link_.Call({"REPLCONF", "capa", "eof", "capa", "psync2", "capa", "sluice"}) &&
        link_.Call({"REPLCONF", "rdb-only", "1"});
    if (!is_heard) return Told(link_.fault());
    if (Fault fault = Ask()) return fault;
    std::string frame;
    if (Fault fault = NextLine(frame)) return fault;
    if (frame.starts_with('-')) return Told(Shown(frame));
    if (!frame.starts_with('$')) return Told(Concat("no data come, but ", Shown(frame)));
    const std::string_view size = std::string_view(frame).substr(1);
    Fault fault = size.starts_with(kEndMarkWord) ? TakeToMark(size.substr(kEndMarkWord.size()))
                                                 : TakeSized(size);
    bytes = taken_;
    return fault;
  }

 private:
  Fault Told(std::string_view why) const { return Concat(server_, ": ", why); }
  static std::string Shown(std::string_view text) {
    return QuotedWord(text.substr(0, kToldBytesMax));
  }

  // The next line that is not empty: empty ones say that the server is at work.
  Fault NextLine(std::string& line) {
    while (true) {
      const std::optional<std::string> next = link_.Line();
      if (!next) return Told(link_.fault());
      line = *next;
      if (!line.empty()) return {};
    }
  }

  Fault Ask() {
    std::string answer;
    if (!link_.Send("PSYNC ? -1\r\n")) return Told(link_.fault());
    if (Fault fault = NextLine(answer)) return fault;
    if (answer.starts_with("+FULLRESYNC ")) return {};
    if (!answer.starts_with("-ERR unknown command"))
      return Told(Concat("it does not send its data: ", Shown(answer)));
    return link_.Send("SYNC\r\n") ? Fault() : Told(link_.fault());
  }

  Fault Write(std::string_view piece) {
    size_t written = 0;
    if (const int fault = file_.Append(piece, written))
      return Concat("the data of ", server_, " cannot be kept: ", std::strerror(fault));
    taken_ += piece.size();
    return {};
  }

  Fault TakeSized(std::string_view size) {
    const std::optional<int64_t> bytes = ParseInt64(size);
    if (!bytes || *bytes < 0) return Told(Concat("its data have no length, but ", Shown(size)));
    std::vector<char> piece(kPieceBytesOfSync);
    for (auto left = static_cast<uint64_t>(*bytes); left > 0;) {
      const std::optional<size_t> got =
          link_.Read({piece.data(), std::min<uint64_t>(left, piece.size())});
      if (!got) return Torn();
      if (Fault fault = Write({piece.data(), *got})) return fault;
      left -= *got;
    }
    return {};
  }

  // Bytes that may be the mark are held back.
  Fault TakeToMark(std::string_view word) {
    const std::string mark(word);
    if (mark.size() != kEndMarkBytes) return Told(Concat("no mark of an end: ", Shown(word)));
    std::vector<char> piece(kPieceBytesOfSync);
    std::string held;
    while (held != mark) {
      const std::optional<size_t> got = link_.Read(piece);
      if (!got) return Torn();
      held.append(piece.data(), *got);
      const size_t sure = held.size() - std::min(held.size(), kEndMarkBytes);
      if (Fault fault = Write(std::string_view(held).substr(0, sure))) return fault;
      held.erase(0, sure);
    }
    return {};
  }

  Fault Torn() const {
    return Told(Concat("its data have ended behind ", taken_, " bytes: ", link_.fault()));
  }

  RedisLink& link_;
  const std::string& server_;
  DiskFile& file_;
  uint64_t taken_ = 0;
};

}  // namespace

Fault FetchFullSync(RedisLink& link, const std::string& server, DiskFile& file, uint64_t& bytes) {
  return FullSyncFetch(link, server, file).Run(bytes);
}

}  // namespace sluice
