// See stream_follower.h.
#include "tests/simulation/cluster/stream_follower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "tests/support/command_line.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kFollowAgain = 300 * kMs;
constexpr int64_t kAcknowledgeEvery = kSecond;
constexpr int64_t kSilenceMax = 15 * kSecond;
constexpr size_t kMarkBytes = 40;

}  // namespace

bool StreamLedger::Add(const std::string& id, int64_t offset, std::string_view bytes) {
  auto& pieces = pieces_[id];
  auto piece = pieces.upper_bound(offset);
  const bool continues = piece != pieces.begin() &&
                         std::prev(piece)->first + std::ssize(std::prev(piece)->second) >= offset;
  piece = continues ? std::prev(piece) : pieces.try_emplace(offset).first;
  std::string& kept = piece->second;
  const auto begin = static_cast<size_t>(offset - piece->first);
  const size_t common = std::min(kept.size() - begin, bytes.size());
  if (kept.compare(begin, common, bytes.substr(0, common)) != 0) return false;
  kept += bytes.substr(common);
  const auto next = std::next(piece);
  if (next == pieces.end() || piece->first + std::ssize(kept) < next->first) return true;
  // It has reached what was sent from there on.
  const std::string later = std::move(next->second);
  const int64_t from = next->first;
  pieces.erase(next);
  return Add(id, from, later);
}

StreamFollower::StreamFollower(World& world, Machine& master, StreamLedger& ledger)
    : world_(world), master_(master), ledger_(ledger), site_(world.NewSite()) {}

StreamFollower::~StreamFollower() {
  if (connection_) world_.network().Detach(connection_, Connection::Side::kCaller);
}

void StreamFollower::Begin() {
  Connect();
  world_.time().After(kAcknowledgeEvery, [this] { Acknowledge(); });
}

std::string StreamFollower::Show() const {
  return Concat("replica at site ", site_, ": history ", id_, ", offset ", offset_, ", stage ",
                static_cast<int>(stage_), ", image of ", image_of_ / kMs, " ms");
}

// --- the link

void StreamFollower::Connect() {
  const int64_t delay = world_.network().DelayBetween(site_, master_.site());
  world_.time().After(delay < 0 ? kFollowAgain : delay, [this, delay] {
    if (delay >= 0) connection_ = master_.Accept(site_, *this);
    if (!connection_) return world_.time().After(kFollowAgain, [this] { Connect(); });
    ++links_;
    heard_at_ = world_.time().now();
    stage_ = Stage::kPort;
    Say({"REPLCONF", "listening-port", std::to_string(6380 + site_)});
  });
}

void StreamFollower::Leave() {
  if (connection_) world_.network().Close(connection_, Connection::Side::kCaller);
  Ended();
}

void StreamFollower::Ended() {
  connection_ = nullptr;
  received_.clear();
  // Half of an image is none.
  if (stage_ == Stage::kImage) id_ = "?";
  stage_ = Stage::kNothing;
  world_.time().After(world_.time().PickSpan(kMs, kFollowAgain), [this] { Connect(); });
}

void StreamFollower::Say(const std::vector<std::string>& words) {
  if (connection_)
    world_.network().Say(connection_, Connection::Side::kCaller, EncodeRequest(words));
}

void StreamFollower::Acknowledge() {
  if (stage_ == Stage::kStream) Say({"REPLCONF", "ACK", std::to_string(offset_)});
  if (connection_ && world_.time().now() - heard_at_ > kSilenceMax) Leave();
  world_.time().After(kAcknowledgeEvery, [this] { Acknowledge(); });
}

// --- what comes on it

void StreamFollower::Arrived(std::string_view bytes) {
  heard_at_ = world_.time().now();
  received_ += bytes;
  const uint64_t link = links_;
  while (link == links_ && connection_ && ReadOne()) {
  }
}

bool StreamFollower::ReadOne() {
  switch (stage_) {
    case Stage::kNothing:
      return false;
    case Stage::kPort:
    case Stage::kAbilities:
      return ReadAnswer();
    case Stage::kResync:
      return ReadResync();
    case Stage::kImage:
      return ReadImage();
    case Stage::kStream:
      return ReadCommand();
  }
  return false;
}

bool StreamFollower::ReadLine(std::string& line) {
  const size_t end = received_.find('\n');
  if (end == std::string::npos) return false;
  line = received_.substr(0, end > 0 && received_[end - 1] == '\r' ? end - 1 : end);
  received_.erase(0, end + 1);
  return true;
}

bool StreamFollower::ReadAnswer() {
  std::string line;
  if (!ReadLine(line)) return false;
  if (!line.starts_with("+OK")) {
    Leave();
    return false;
  }
  if (stage_ == Stage::kPort) {
    stage_ = Stage::kAbilities;
    Say({"REPLCONF", "capa", "eof", "capa", "psync2"});
  } else {
    stage_ = Stage::kResync;
    Say({"PSYNC", id_, id_ == "?" ? "-1" : std::to_string(offset_ + 1)});
  }
  return true;
}

bool StreamFollower::ReadResync() {
  std::string line;
  if (!ReadLine(line)) return false;
  if (line.empty()) return true;  // it is kept awake
  if (line.starts_with("+CONTINUE")) {
    if (line.size() > 10) id_ = line.substr(10);
    ++counts_.partial;
    stage_ = Stage::kStream;
  } else if (line.starts_with("+FULLRESYNC ")) {
    id_ = line.substr(12, kMarkBytes);
    offset_ = std::stoll(line.substr(13 + kMarkBytes));
    registers_.clear();
    image_mark_.clear();
    image_began_ = world_.time().now();
    ++counts_.full;
    stage_ = Stage::kImage;
  } else {
    Leave();  // -LOADING, -NOMASTERLINK: later
    return false;
  }
  return true;
}

bool StreamFollower::ReadImage() {
  if (image_mark_.empty()) {
    std::string line;
    if (!ReadLine(line)) return false;
    if (line.starts_with("$EOF:")) image_mark_ = line.substr(5);
    return true;
  }
  const size_t end = received_.find(image_mark_);
  if (end == std::string::npos) return false;
  received_.erase(0, end + kMarkBytes);
  image_of_ = image_began_;
  stage_ = Stage::kStream;
  Say({"REPLCONF", "ACK", std::to_string(offset_)});
  return true;
}

bool StreamFollower::ReadCommand() {
  ReplyReader reader;
  const std::optional<Reply> command = reader.Read(received_);
  EXPECT_FALSE(reader.failed()) << received_;
  if (!command) return false;
  EXPECT_TRUE(ledger_.Add(id_, offset_, received_.substr(0, reader.consumed())))
      << "history " << id_ << " has two commands at " << offset_ << ", one is "
      << command->ToText();
  received_.erase(0, reader.consumed());
  offset_ += static_cast<int64_t>(reader.consumed());
  counts_.bytes += static_cast<int64_t>(reader.consumed());
  std::vector<std::string> words;
  for (const Reply& word : command->elements) words.push_back(word.text);
  Apply(words);
  return true;
}

void StreamFollower::Apply(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "SET") {
    registers_[words[1]] = words[2];
    values_.insert(words[2]);
  } else if (words.size() == 3 && words[0] == "REPLCONF" && words[1] == "GETACK") {
    Say({"REPLCONF", "ACK", std::to_string(offset_)});
  }
}

}  // namespace sluice::cluster
