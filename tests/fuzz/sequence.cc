// See sequence.h.
#include "tests/fuzz/sequence.h"

#include <algorithm>
#include <utility>

#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/dispatch/pause.h"
#include "server/engine/script_engine.h"
#include "server/locks/lock_service.h"
#include "server/test_double/request_watch.h"
#include "server/test_double/time_control.h"
#include "server/waiting/waiters.h"
#include "tests/support/command_line.h"

namespace sluice {
namespace {

using Kind = Step::Kind;

struct NamedStep {
  std::string_view name;
  Kind kind;
  bool of_client;  // its number is a client's; else an amount
};
constexpr NamedStep kNamedSteps[] = {
    {"stop", Kind::kStop, true},  {"read", Kind::kRead, true},  {"drop", Kind::kDrop, true},
    {"time", Kind::kTime, false}, {"jump", Kind::kJump, false}, {"wall", Kind::kWall, false},
    {"slow", Kind::kSlow, false},
};
struct Mark {
  char mark;
  Kind kind;
};
constexpr Mark kMarks[] = {{'>', Kind::kRequest}, {'+', Kind::kHeldRequest}, {'=', Kind::kBytes}};

// Work and time that no sequence takes, however unlucky.
constexpr int64_t kTimeMsMax = 1000LL * 3600 * 24 * 400;
constexpr int64_t kFinalMs = 3000;
constexpr int kPollsBeforeKill = 3;
constexpr int64_t kStepsPerCarriage = 2;

std::string Quoted(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("-+_.:*$>()[]{}/=,#@!?|~<^%&;").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      char hex[5];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      text += hex;
    }
  }
  return text + '"';
}

std::optional<Step> ParseStep(std::string_view line) {
  const size_t blank = std::min(line.find(' '), line.size());
  const std::string_view head = line.substr(0, blank);
  const std::string_view rest = line.substr(std::min(blank + 1, line.size()));
  for (const NamedStep& row : kNamedSteps) {
    if (row.name != head) continue;
    const std::optional<int64_t> number = ParseInt64(rest);
    if (!number) return std::nullopt;
    if (!row.of_client) return Step{.kind = row.kind, .amount = *number};
    if (*number < 0 || *number >= static_cast<int64_t>(Player::kClientsMax)) return std::nullopt;
    return Step{.kind = row.kind, .client = static_cast<size_t>(*number)};
  }
  if (head.size() != 2 || head[0] < '0' || head[0] >= '0' + static_cast<int>(Player::kClientsMax))
    return std::nullopt;
  for (const Mark& mark : kMarks) {
    if (mark.mark != head[1]) continue;
    auto words = SplitCommandLine(rest);
    if (!words || words->empty()) return std::nullopt;
    return Step{.kind = mark.kind,
                .client = static_cast<size_t>(head[0] - '0'),
                .words = *std::move(words)};
  }
  return std::nullopt;
}

}  // namespace

std::string TextOf(const Step& step) {
  for (const NamedStep& row : kNamedSteps) {
    if (row.kind == step.kind)
      return std::string(row.name) + ' ' +
             (row.of_client ? std::to_string(step.client) : std::to_string(step.amount));
  }
  std::string text = std::to_string(step.client);
  for (const Mark& mark : kMarks) {
    if (mark.kind == step.kind) text += mark.mark;
  }
  for (const std::string& word : step.words) text += ' ' + Quoted(word);
  return text;
}

std::string TextOf(const Sequence& sequence) {
  std::string text;
  for (const Step& step : sequence) text += TextOf(step) + '\n';
  return text;
}

std::optional<Sequence> ParseSequence(std::string_view text) {
  Sequence sequence;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    std::optional<Step> step = ParseStep(line);
    if (!step) return std::nullopt;
    sequence.push_back(*std::move(step));
  }
  return sequence;
}

// --- playing

Player::Player(bool test_double)
    : server_({.config = {{"proto-max-bulk-len", "1mb"},
                          {"enable-protected-configs", "yes"},
                          {"client-output-buffer-limit", "normal 64mb 0 0 pubsub 64mb 0 0"},
                          {"client-query-buffer-limit", "16mb"}},
               .audits = false,
               .test_double = test_double,
               .spaces = test_double ? &space_ : nullptr}) {
  server_.engine().part<Effects>().set_sink(kToLog, this);
  // A script past its time lets others be served, and is then killed.
  server_.OnPoll([this] {
    Engine& engine = server_.engine();
    engine.RunTurn();
    if (++polls_ % kPollsBeforeKill == 0) engine.part<ScriptEngine>().Kill(false);
  });
}

Player::~Player() { server_.engine().part<Effects>().set_sink(kToLog, nullptr); }

TestClient& Player::Connection(Client& client) {
  if (!client.connection || client.connection->closed()) {
    client = {.connection = &server_.Connect()};
  }
  return *client.connection;
}

void Player::Receive(Client& client, std::string_view bytes) {
  TestClient& connection = Connection(client);
  client.held += bytes;
  connection.SendBytes(std::exchange(client.held, {}));
}

void Player::MeetPeer() {
  peer_.emplace(TestEngine::Options{.audits = false});
  network_.Add("self:1", server_);
  network_.Add("peer:1", *peer_);
}

void Player::Play(const Step& step) {
  const bool migrates = !step.words.empty() && IsSameInAnyCase(step.words[0], "MIGRATE");
  if (migrates && !peer_) MeetPeer();
  if (peer_ && ++steps_ % kStepsPerCarriage == 0 && !network_.Settle())
    Fail("two servers never cease to talk to each other");
  Client& client = clients_[step.client];
  switch (step.kind) {
    case Kind::kRequest:
      Receive(client, EncodeRequest(step.words));
      break;
    case Kind::kHeldRequest:
      client.held += EncodeRequest(step.words);
      break;
    case Kind::kBytes:
      Receive(client, step.words[0]);
      break;
    case Kind::kStop:
    case Kind::kRead:
      Connection(client).set_reading(step.kind == Kind::kRead);
      break;
    case Kind::kDrop:
      if (client.connection) client.connection->Disconnect();
      break;
    case Kind::kTime:
      server_.AdvanceTime(std::clamp<int64_t>(step.amount, 0, kTimeMsMax));
      CallAfterRealTime();
      break;
    case Kind::kJump:
      server_.clock().Advance(std::clamp<int64_t>(step.amount, 0, kTimeMsMax));
      server_.Settle();
      break;
    case Kind::kWall:
      server_.clock().StepWall(std::clamp<int64_t>(step.amount, -kTimeMsMax, kTimeMsMax));
      server_.Settle();
      break;
    case Kind::kSlow:
      server_.set_tick_step(step.amount);
  }
  ReadReplies();
}

// What waits for real time, which a frozen clock does not stop.
void Player::CallAfterRealTime() {
  for (const auto& [real_ms, call] : server_.TakeRealCalls()) call();
  server_.Settle();
}

// Behind PSYNC come no replies any more, but a file and a stream.
bool Player::IsReplica(const TestClient& client) {
  const Session* const session = server_.engine().Find(client.id());
  return session && session->kind == SessionKind::kReplica;
}

void Player::ReadReplies() {
  for (Client& client : clients_) {
    if (!client.connection) continue;
    std::string bytes = client.connection->TakeBytes();
    if (bytes.empty() || IsReplica(*client.connection)) continue;
    client.received += bytes;
    std::string_view left = client.received;
    ReplyReader reader;
    while (std::optional<Reply> reply = reader.Read(left)) {
      left.remove_prefix(reader.consumed());
      if (on_reply) on_reply(*reply);
    }
    if (reader.failed()) Fail("a reply is not RESP: " + Quoted(left.substr(0, 200)));
    client.received.erase(0, client.received.size() - left.size());
  }
}

void Player::Audit() {
  if (std::string fault = server_.Audit(); !fault.empty()) Fail("audit: " + fault);
}

void Player::Finish() {
  if (over()) return;
  for (Client& client : clients_) {
    if (client.connection) client.connection->Disconnect();
  }
  if (peer_) network_.Settle();
  Engine& engine = server_.engine();
  engine.part<Pause>().End();  // CLIENT PAUSE ALL holds CLIENT UNPAUSE too
  if (auto* const watch = engine.parts().Find<RequestWatch>()) {
    watch->Reset();
    engine.part<TimeControl>().Run();
    CallAfterRealTime();
  }
  Client& last = clients_[0];
  for (const char* const line : {"FAILOVER ABORT", "REPLICAOF NO ONE", "FLUSHALL SYNC",
                                 "SCRIPT FLUSH SYNC", "FUNCTION FLUSH SYNC", "PING"}) {
    Connection(last).SendBytes(EncodeRequest(*SplitCommandLine(line)));
    if (server_.shutdown_code()) return;  // an end that waited for replicas waits no more
  }
  if (!Connection(last).TakeBytes().ends_with("+PONG\r\n")) return Fail("it does not answer PING");
  server_.AdvanceTime(kFinalMs);
  Audit();
  // The option `timeout` may have ended the last one, too.
  if (engine.session_count() > 1) Fail("sessions are left");
  if (engine.part<Waiters>().blocked_clients().size() != 0) Fail("waiters are left");
  if (engine.part<LockService>().Enter().queue().size() != 0) Fail("waiters for locks are left");
}

void Player::Effect(int, Args command, EffectTime) {
  if (command.empty()) Fail("an effect without words");
}
void Player::GroupBegin() {
  if (std::exchange(in_group_, true)) Fail("groups of effects nest");
}
void Player::GroupEnd() {
  if (!std::exchange(in_group_, false)) Fail("a group of effects ends that has not begun");
}

// --- shrinking

namespace {

// Leaves out runs of elements, long ones first, as long as it fails without them.
template <typename List, typename Fails>
void ShrinkList(List& list, size_t least, const Fails& fails) {
  for (size_t run = std::max<size_t>(list.size() / 2, 1); run > 0; run /= 2) {
    for (size_t end = list.size(); end > least;) {
      const size_t begin = std::max(least, end > run ? end - run : 0);
      List shorter(list.begin(), list.begin() + static_cast<ptrdiff_t>(begin));
      shorter.insert(shorter.end(), list.begin() + static_cast<ptrdiff_t>(end), list.end());
      if (fails(shorter)) list = std::move(shorter);
      end = begin;
    }
  }
}

}  // namespace

Sequence Shrunk(Sequence sequence, const std::function<bool(const Sequence&)>& fails) {
  for (size_t before = sequence.size() + 1; sequence.size() < before;) {
    before = sequence.size();
    ShrinkList(sequence, 0, fails);
  }
  for (size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i].words.size() < 2) continue;
    std::vector<std::string> words = sequence[i].words;
    ShrinkList(words, 1, [&](const std::vector<std::string>& fewer) {
      Sequence changed = sequence;
      changed[i].words = fewer;
      return fails(changed);
    });
    sequence[i].words = words;
  }
  return sequence;
}

}  // namespace sluice
