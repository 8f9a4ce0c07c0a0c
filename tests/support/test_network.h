// TestNetwork: engines that reach each other by name, without sockets and in one thread. A link is
// a pair of byte pipes that the test drives: all of it, so many bytes, or none until it is cut.
//
//   TestNetwork network;
//   TestEngine master, replica;
//   network.Add("master:6379", master);
//   network.Add("replica:6379", replica);
//   replica.engine().part<Links>().Open({.host = "master", .port = 6379}, listener);
//   network.Settle();                     // opens it, and carries bytes until nobody says more
//   network.links()[0]->Carry(Way::kIn, 10);  // or ten bytes of what the master has said
//   network.links()[0]->Cut();            // both ends see the end
//
// Nothing moves by itself: what an engine says lies in its end of the pipe until it is carried. An
// end that must not be read (Engine::IsStalled) is given nothing, as a socket's peer would be held
// up. Engines and network may be destroyed in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/text/fault.h"
#include "server/clients/link_listener.h"
#include "tests/support/engine_fixture.h"

namespace sluice {

// Of a link's bytes, as the engine that has opened it sees them.
enum class Way : uint8_t { kOut, kIn };

// One link that was accepted. It stays after its end, with nothing to carry.
class TestLink {
 public:
  TestLink(TestEngine& opener, TestClient& near, TestEngine& acceptor, TestClient& far)
      : out_{&near, {}, &far, &acceptor}, in_{&far, {}, &near, &opener} {}

  // Carries up to `most` bytes, in pieces of at most `piece`; returns how many.
  size_t Carry(Way way, size_t most = SIZE_MAX, size_t piece = SIZE_MAX);
  // Bytes that were said and not carried.
  size_t waiting(Way way);
  // Both ends see the connection end; what was not carried is lost.
  void Cut();
  // An end that has closed it is noticed at the other one once all it has said is carried.
  bool NoticeEnd();
  bool is_open() const { return !out_.from->closed() && !in_.from->closed(); }
  bool IsOf(const TestEngine& engine) const {
    return out_.of_to == &engine || in_.of_to == &engine;
  }
  // The end that is not that engine's. Requires: IsOf.
  TestClient& OtherEnd(const TestEngine& engine) { return out_.of_to == &engine ? near() : far(); }
  // The end that has opened it, and the one that was called.
  TestClient& near() { return *out_.from; }
  TestClient& far() { return *in_.from; }

 private:
  struct Pipe {
    TestClient* from;
    std::string bytes;
    TestClient* to;
    TestEngine* of_to;
  };
  Pipe& PipeOf(Way way) { return way == Way::kOut ? out_ : in_; }

  Pipe out_;
  Pipe in_;
};

class TestNetwork final : public EngineNetwork {
 public:
  TestNetwork() = default;
  TestNetwork(const TestNetwork&) = delete;
  ~TestNetwork() override;

  // `address` is host:port. The engine both opens links from here on and is reached by it.
  void Add(const std::string& address, TestEngine& engine);
  // It crashes: it is told of nothing more, the other ends of its links see their end, and new
  // ones are refused. Its test destroys it.
  void Crash(TestEngine& engine);

  // Links that are being opened, in order: how each one would go is the test's to say.
  size_t opening() const { return attempts_.size(); }
  // The first of them reaches its engine, or is refused where none has that address.
  void OpenNext();
  // The first of them fails.
  void FailNext(std::string_view why);

  // Opens what is being opened and carries all bytes, until nothing is left to do. `rounds` bounds
  // engines that never cease to talk to each other; false: they had not.
  bool Settle(int rounds = 1000);

  // All that were accepted, in that order.
  const std::vector<std::unique_ptr<TestLink>>& links() const { return links_; }

 private:
  Fault Open(TestEngine& from, const LinkTarget& target, LinkListener& listener) override;
  void GiveUp(LinkListener& listener) override;
  void Forget(const TestEngine& engine) override;

  struct Attempt {
    TestEngine* from;
    std::string address;
    LinkListener* listener;
  };
  Attempt TakeNext();
  bool CarryAll();

  std::map<std::string, TestEngine*> engines_;
  std::vector<Attempt> attempts_;
  std::vector<std::unique_ptr<TestLink>> links_;
};

}  // namespace sluice
