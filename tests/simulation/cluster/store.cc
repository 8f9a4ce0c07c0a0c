// See store.h.
#include "tests/simulation/cluster/store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"

namespace sluice::cluster {
namespace {

constexpr int64_t kPromptMax = 2 * kMs;         // before a request is applied, and behind that
constexpr int64_t kLateMax = 3 * kSecond;       // the same of one in kLateOneIn
constexpr int64_t kStorePatience = 1500 * kMs;  // for a leader; then it is not known
constexpr int64_t kLaterMax = 4 * kSecond;      // what is not known may come to pass until then
constexpr int64_t kLateOneIn = 12;
constexpr int64_t kLostOneIn = 40;
constexpr int64_t kUnknownOneIn = 40;
constexpr int64_t kLeaderEvery = 4 * kSecond;
constexpr int64_t kNoLeaderMax = 2 * kSecond;
constexpr int64_t kBehindMax = kSecond;  // of a watcher
constexpr int64_t kReadsBehind = 5;      // changes, where this fault is planted
constexpr int64_t kHiddenOneIn = 20;     // the same
constexpr char kStoreOk[] = "+OK\r\n";
constexpr char kStoreNull[] = "$-1\r\n";
constexpr char kStoreNotHeld[] = "-NOTHELD\r\n";
constexpr char kStoreUnknown[] = "-UNKNOWN whether it comes to pass\r\n";

std::string NumberLine(int64_t number) { return Concat(":", number, "\r\n"); }
std::string BulkOf(std::string_view text) { return Concat("$", text.size(), "\r\n", text, "\r\n"); }

}  // namespace

const Store::Row Store::kStoreRows[] = {
    {"GET", 2, &Store::Get},   {"PUT", 3, &Store::Put},   {"CLAIM", 4, &Store::Claim},
    {"KEEP", 4, &Store::Keep}, {"DROP", 3, &Store::Drop},
};

// --- connections

class Store::Session final : public End, public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Store& store) : store_(store) {}
  ~Session() override {
    if (connection_) network().Detach(connection_, Connection::Side::kCalled);
  }

  void Stand(Network::Handle connection) { connection_ = std::move(connection); }
  const Network::Handle& connection() const { return connection_; }
  bool is_over() const { return connection_ == nullptr; }

  void Arrived(std::string_view bytes) override {
    received_ += bytes;
    ReplyReader reader;
    while (const std::optional<Reply> request = reader.Read(received_)) {
      received_.erase(0, reader.consumed());
      Words words;
      for (const Reply& word : request->elements) words.push_back(word.text);
      words.front() == "WATCH" ? Watch(words) : store_.Come(shared_from_this(), std::move(words));
    }
  }
  void Ended() override { connection_ = nullptr; }

  void Say(std::string_view bytes) {
    if (connection_) network().Say(connection_, Connection::Side::kCalled, bytes);
  }
  void Break() {
    const Network::Handle was = std::exchange(connection_, nullptr);
    if (!was) return;
    network().Detach(was, Connection::Side::kCalled);
    network().Break(was);
  }

 private:
  Network& network() { return store_.world_.network(); }

  void Watch(const Words& words) {
    watched_ = words.at(1);
    told_ = std::stoll(words.at(2));
    Say(kStoreOk);
    TellLater();
  }
  void TellLater() {
    World& world = store_.world_;
    world.time().After(world.time().PickSpan(kMs, kBehindMax), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Tell();
    });
  }
  // Up to anywhere.
  void Tell() {
    const auto last = static_cast<int64_t>(store_.changes_.size());
    const int64_t to = store_.world_.Pick(told_, std::max(told_, last));
    for (; told_ < to; ++told_) {
      const Change& change = store_.changes_[static_cast<size_t>(told_)];
      if (change.key != watched_) continue;
      if (store_.fault_ == Fault::kHidesChanges && store_.world_.OneIn(kHiddenOneIn)) continue;
      Say(Concat("*2\r\n", NumberLine(change.revision),
                 change.is ? BulkOf(change.is->text) : kStoreNull));
    }
    if (!is_over()) TellLater();
  }

  Store& store_;
  Network::Handle connection_;
  std::string received_;
  std::string watched_;
  int64_t told_ = 0;  // the last revision that it was told of
};

Store::Store(World& world, Fault fault)
    : world_(world), fault_(fault), site_(world.NewSite()), rate_(world.PickRate()) {}

Store::~Store() = default;

Network::Handle Store::Accept(Site caller, End& caller_end) {
  std::erase_if(sessions_, [](const auto& session) { return session->is_over(); });
  sessions_.push_back(std::make_shared<Session>(*this));
  Session& session = *sessions_.back();
  session.Stand(world_.network().Connect(caller, caller_end, site_, session));
  return session.connection();
}

// --- requests

void Store::Come(const std::shared_ptr<Session>& session, Words words) {
  Timeline& time = world_.time();
  auto request = std::make_shared<Request>(Request{session, std::move(words)});
  const bool is_late = world_.OneIn(kLateOneIn);
  int64_t span = time.PickSpan(50, is_late ? kLateMax : kPromptMax);
  if (world_.OneIn(kUnknownOneIn)) {
    Answer(*request, kStoreUnknown);
    if (world_.OneIn(2)) return;
    span = time.PickSpan(kMs, kLaterMax);
  }
  request->is_answer_lost = world_.OneIn(kLostOneIn);
  time.After(span, [this, request] { Take(request); });
}

void Store::Take(const std::shared_ptr<Request>& request) {
  if (has_leader_) return Answer(*request, Apply(request->words));
  waiting_.push_back(request);
  world_.time().After(kStorePatience, [this, request] { Answer(*request, kStoreUnknown); });
}

void Store::Answer(Request& request, const std::string& answer) {
  const auto session = std::exchange(request.session, {}).lock();
  if (!session) return;
  if (request.is_answer_lost) return session->Break();
  const int64_t span = world_.time().PickSpan(50, world_.OneIn(kLateOneIn) ? kLateMax : kPromptMax);
  world_.time().After(span, [weak = std::weak_ptr(session), answer] {
    if (const auto listens = weak.lock()) listens->Say(answer);
  });
}

std::string Store::Apply(const Words& words) {
  for (const Row& row : kStoreRows) {
    if (row.name == words.front() && row.words == words.size()) return (this->*row.apply)(words);
  }
  return "-ERR no such request\r\n";
}

std::string Store::Get(const Words& words) {
  const auto found = values_.find(words[1]);
  std::optional<Value> value;
  if (found != values_.end()) value = found->second;
  if (fault_ == Fault::kReadsBehind && !world_.OneIn(3)) {
    const int64_t behind = world_.Pick(1, kReadsBehind);
    for (auto change = changes_.rbegin();
         change != changes_.rend() && change - changes_.rbegin() < behind; ++change)
      if (change->key == words[1]) value = change->was;
  }
  if (!value) return kStoreNull;
  return Concat("*2\r\n", BulkOf(value->text), NumberLine(value->revision));
}

std::string Store::Put(const Words& words) { return NumberLine(Set(words[1], Value{words[2]})); }

std::string Store::Claim(const Words& words) {
  if (values_.contains(words[1])) return kStoreNull;
  const int64_t revision = Set(words[1], Value{words[2]});
  Lease(words[1], words[3]);
  return NumberLine(revision);
}

std::string Store::Keep(const Words& words) {
  if (!ClaimOf(words)) return kStoreNotHeld;
  Lease(words[1], words[3]);
  return kStoreOk;
}

std::string Store::Drop(const Words& words) {
  if (!ClaimOf(words)) return kStoreNotHeld;
  Set(words[1], std::nullopt);
  return kStoreOk;
}

// --- values and leases

Store::Value* Store::ClaimOf(const Words& words) {
  const auto found = values_.find(words[1]);
  const bool is_there = found != values_.end() && found->second.until &&
                        found->second.revision == std::stoll(words[2]);
  return is_there ? &found->second : nullptr;
}

// The revision.
int64_t Store::Set(const std::string& key, std::optional<Value> value) {
  const auto revision = static_cast<int64_t>(changes_.size()) + 1;
  const auto found = values_.find(key);
  std::optional<Value> was;
  if (found != values_.end()) was = found->second;
  if (value) {
    value->revision = revision;
    values_[key] = *value;
  } else {
    values_.erase(key);
  }
  changes_.push_back({revision, key, std::move(was), std::move(value)});
  return revision;
}

void Store::Lease(const std::string& key, const std::string& ms) {
  const double span = static_cast<double>(std::stoll(ms) * kMs) / rate_;
  const int64_t until = world_.time().now() + std::llround(span);
  values_[key].until = until;
  world_.time().At(until, [this] { EndLeases(); });
}

void Store::EndLeases() {
  if (!has_leader_) return;
  std::vector<std::string> over;
  for (const auto& [key, value] : values_) {
    if (value.until && *value.until <= world_.time().now()) over.push_back(key);
  }
  for (const std::string& key : over) Set(key, std::nullopt);
}

// --- leaders

void Store::Begin(int64_t until) {
  world_.time().After(world_.time().PickSpan(kMs, kLeaderEvery), [this, until] {
    if (world_.time().now() < until) LoseLeader(until);
  });
}

void Store::LoseLeader(int64_t until) {
  world_.time().Tell("the store has no leader");
  has_leader_ = false;
  world_.time().After(world_.time().PickSpan(kMs, kNoLeaderMax),
                      [this, until, since = world_.time().now()] {
                        FindLeader(since);
                        Begin(until);
                      });
}

void Store::FindLeader(int64_t since) {
  world_.time().Tell("the store has a leader");
  has_leader_ = true;
  standstills_.push_back({since, world_.time().now()});
  if (fault_ == Fault::kForgetsClaims) {
    for (auto& [key, value] : values_) {
      if (value.until) value.until = 0;
    }
  }
  if (fault_ == Fault::kForgetsWrites && !changes_.empty()) {
    const Change& last = changes_.back();
    last.was ? static_cast<void>(values_[last.key] = *last.was)
             : static_cast<void>(values_.erase(last.key));
  }
  if (world_.OneIn(2)) EndLeases();
  for (const auto& request : std::exchange(waiting_, {})) {
    if (request->session.expired() && world_.OneIn(2)) continue;
    Take(request);
  }
  EndLeases();
}

}  // namespace sluice::cluster
