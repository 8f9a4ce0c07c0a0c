// See rude_master.h.
#include "tests/simulation/cluster/rude_master.h"

#include <iterator>
#include <optional>
#include <utility>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "tests/support/command_line.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kSaysEvery = 700 * kMs;
constexpr int64_t kRudeOneIn = 6;  // answers
constexpr size_t kIdBytes = 40;
constexpr std::string_view kNoLength = "*4611686018427387904\r\n";
constexpr std::string_view kEmptyFile("REDIS0010\xff\0\0\0\0\0\0\0\0", 18);

// Answers to anything.
constexpr const char* kRudeAnswers[] = {
    "-ERR no",
    "-NOAUTH who are you?",
    "-LOADING later",
    "-NOMASTERLINK nor has this one",
    "+FULLRESYNC short 0",
    "+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -7",
    "+CONTINUE short",
    "$4611686018427387904",
    "what?",
    "",
};

// Heads of a file that no file has, and files that are none.
constexpr std::string_view kRudeImages[] = {
    "$-5\r\n",
    "$4611686018427387904\r\n",
    "$EOF:short\r\n",
    "-ERR no file\r\n",
    "HELLO\r\n",
    "$9\r\nnot a RDB",
    "$0\r\n",
    "$11\r\nREDIS0010\xfe\xff",
    "\n\n$-1\r\n",
    "$1048576\r\nREDIS0010",
    "$EOF:aaaaaaaaaaaa",
};

template <size_t kCount, typename Word>
const Word& OneOf(World& world, const Word (&words)[kCount]) {
  return words[world.Pick(0, static_cast<int64_t>(kCount) - 1)];
}

}  // namespace

// One that follows.
class RudeMaster::Link final : public End {
 public:
  explicit Link(RudeMaster& master) : master_(master) {}
  ~Link() override { Leave(&Network::Detach); }

  void Stand(Network::Handle connection) { connection_ = std::move(connection); }
  const Network::Handle& connection() const { return connection_; }
  bool is_over() const { return connection_ == nullptr; }

  void Arrived(std::string_view bytes) override {
    received_ += bytes;
    ReplyReader reader;
    while (const std::optional<Reply> request = reader.Read(received_)) {
      received_.erase(0, reader.consumed());
      if (!request->elements.empty()) Answer(request->elements);
      if (is_over()) return;
    }
  }
  void Ended() override { connection_ = nullptr; }

  // Some of the stream, in which nonsense ends the link.
  void GoOn() {
    if (!has_said_image_ || is_over()) return;
    if (world().OneIn(2 * kRudeOneIn)) return Leave(&Network::Close);
    if (world().OneIn(2 * kRudeOneIn)) return Say(kNoLength);
    Say(EncodeRequest({"SET", Concat("rude:", world().Pick(0, 9)), "value"}));
    if (world().OneIn(3)) Say(EncodeRequest({"REPLCONF", "GETACK", "*"}));
  }

 private:
  World& world() { return master_.world_; }
  void Say(std::string_view bytes) {
    world().network().Say(connection_, Connection::Side::kCalled, bytes);
  }
  void Leave(void (Network::*way)(const Network::Handle&, Connection::Side)) {
    if (const Network::Handle was = std::exchange(connection_, nullptr))
      (world().network().*way)(was, Connection::Side::kCalled);
  }

  void Answer(const std::vector<Reply>& words) {
    const std::string& command = words.front().text;
    if (command == "REPLCONF" && words.size() > 1 && words[1].text == "ACK") return;
    if (world().OneIn(kRudeOneIn)) return BeRude();
    if (command == "PING") return Say("+PONG\r\n");
    if (command == "INFO") return Say("$13\r\nrole:master\r\n\r\n");
    if (command == "SYNC") return SayImage();
    if (command != "PSYNC") return Say("+OK\r\n");
    // Two histories never have one name, or nobody could tell them apart.
    const std::string number = std::to_string(world().NewNumber());
    id_ = std::string(kIdBytes - number.size(), 'a') + number;
    if (words.at(1).text != "?" && world().OneIn(4)) {
      has_said_image_ = true;
      return Say(Concat("+CONTINUE ", id_, "\r\n"));
    }
    Say(Concat("+FULLRESYNC ", id_, " ", world().Pick(0, 5000), "\r\n"));
    // A while may pass, or for ever.
    if (!world().OneIn(kRudeOneIn)) SayImage();
  }

  void SayImage() {
    if (world().OneIn(4)) {
      ++master_.nonsense_;
      Say(OneOf(world(), kRudeImages));
    } else if (world().OneIn(2)) {
      SayFile(Concat("$", kEmptyFile.size(), "\r\n", kEmptyFile));
    } else {
      const std::string mark(kIdBytes, 'm');
      SayFile(Concat("$EOF:", mark, "\r\n", kEmptyFile, mark));
    }
  }

  // It may stop in the middle, or hang up, there or at the end.
  void SayFile(const std::string& bytes) {
    const bool is_half = world().OneIn(kRudeOneIn);
    Say(is_half ? bytes.substr(0, bytes.size() / 2) : bytes);
    if (world().OneIn(kRudeOneIn)) return Leave(&Network::Close);
    has_said_image_ = !is_half;
    if (has_said_image_) ++master_.images_;
  }

  void BeRude() {
    ++master_.nonsense_;
    switch (world().Pick(0, 4)) {
      case 0:
        return Leave(&Network::Close);
      case 1:
        return;  // nothing
      case 2:
        return Say(std::string(5000, 'x'));
      case 3:
        return Say(kNoLength);
      default:
        return Say(Concat(OneOf(world(), kRudeAnswers), "\r\n"));
    }
  }

  RudeMaster& master_;
  Network::Handle connection_;
  std::string received_;
  std::string id_;
  bool has_said_image_ = false;
};

RudeMaster::RudeMaster(World& world, std::string name)
    : world_(world), name_(std::move(name)), site_(world.NewSite()) {
  world_.names()[name_] = this;
  GoOn();
}

RudeMaster::~RudeMaster() { world_.names().erase(name_); }

void RudeMaster::GoOn() {
  std::erase_if(links_, [](const auto& link) { return link->is_over(); });
  for (const auto& link : links_) link->GoOn();
  world_.time().After(kSaysEvery, [this] { GoOn(); });
}

Network::Handle RudeMaster::Accept(Site caller, End& caller_end) {
  if (world_.OneIn(kRudeOneIn)) return nullptr;
  links_.push_back(std::make_unique<Link>(*this));
  Link& link = *links_.back();
  link.Stand(world_.network().Connect(caller, caller_end, site_, link));
  return link.connection();
}

}  // namespace sluice::cluster
