// A sequence: what clients, clocks and bad luck do to one server, step by step. It is made by a
// fuzzer, kept as text, and plays the same each time:
//
//   0> SET a "x\x00y"    client 0 sends a request (redis-cli's quoting)
//   0+ GET a             the same, and it arrives together with what client 0 sends next
//   0= "*1\r\n$4\r\nPI"  bytes as they are
//   stop 0 / read 0      client 0 takes no more bytes / takes them again
//   drop 0               its connection breaks
//   time 50              50 ms pass, the server runs whenever it has work
//   jump 5000            5 s pass in which it does not run
//   wall -300            the wall clock is set back by 300 ms
//   slow 2000            from here on each look at the time takes 2000 ns, so scripts get slow
//
// A client connects when it is first named, also after its connection was closed. So any line can
// be left out, which is how Shrunk works.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/observe/statistics.h"
#include "server/test_double/spaces.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/test_network.h"

namespace sluice {

struct Step {
  enum class Kind : uint8_t {
    kRequest,
    kHeldRequest,
    kBytes,
    kStop,
    kRead,
    kDrop,
    kTime,
    kJump,
    kWall,
    kSlow
  };
  Kind kind = Kind::kRequest;
  size_t client = 0;
  int64_t amount = 0;              // ms, or ns
  std::vector<std::string> words;  // of a request; kBytes: one
};
using Sequence = std::vector<Step>;

std::string TextOf(const Step& step);
std::string TextOf(const Sequence& sequence);
// Null: not a sequence. Empty lines and those that begin with '#' are left out.
std::optional<Sequence> ParseSequence(std::string_view text);

// The only space of a test double: there is no way out of it, and it is never as after its start.
class OnlySpace final : public Spaces {
 public:
  std::string_view name() const override { return "only"; }
  Fault Enter(CommandCall&, std::string_view) override { return kFault; }
  std::vector<Info> List() override { return {{.name = "only"}}; }
  bool Delete(std::string_view) override { return false; }
  Fault Copy(std::string_view, std::string_view) override { return kFault; }
  int Listen(std::string_view, std::string& fault) override {
    fault = kFault;
    return -1;
  }
  Fault Reset(CommandCall&) override { return kFault; }

 private:
  static constexpr const char* kFault = "ERR there is only this space";
};

// A server on which a sequence is played, or a space of a test double. Every reply has to be RESP;
// effects have to come in groups that do not nest. MIGRATE finds another server at peer:1, whose
// answers take a step or two.
class Player final : private EffectSink {
 public:
  static constexpr size_t kClientsMax = 6;

  explicit Player(bool test_double = false);
  ~Player() override;

  void Play(const Step& step);
  // Walks all of the server's state.
  void Audit();
  // All clients leave and everything is deleted: nothing may be left of them.
  void Finish();
  // What is wrong, for good; empty: nothing is.
  const std::string& fault() const { return fault_; }
  bool over() const { return !fault_.empty() || server_.shutdown_code().has_value(); }
  uint64_t commands() { return server_.engine().statistics().commands; }
  TestEngine& server() { return server_; }

  std::function<void(const Reply&)> on_reply;

 private:
  struct Client {
    TestClient* connection = nullptr;
    std::string held;      // requests that go with the next one
    std::string received;  // the beginning of a reply
  };

  TestClient& Connection(Client& client);
  void Receive(Client& client, std::string_view bytes);
  void CallAfterRealTime();
  void MeetPeer();
  bool IsReplica(const TestClient& client);
  void ReadReplies();
  void Fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  void Effect(int db, Args command, EffectTime time) override;
  void GroupBegin() override;
  void GroupEnd() override;

  OnlySpace space_;
  TestEngine server_;
  TestNetwork network_;
  std::optional<TestEngine> peer_;  // from the first MIGRATE on
  int64_t steps_ = 0;
  std::array<Client, kClientsMax> clients_;
  std::string fault_;
  bool in_group_ = false;
  int polls_ = 0;
};

// The shortest sequence that can be found by leaving out steps and words of one that fails.
// `fails` plays one, in a process of its own if that may crash.
Sequence Shrunk(Sequence sequence, const std::function<bool(const Sequence&)>& fails);

}  // namespace sluice
