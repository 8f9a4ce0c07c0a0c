// See test_network.h. Each end of a link is a TestClient of its engine, which gathers what that one
// says; carrying is handing it to the other.
#include "tests/support/test_network.h"

#include <algorithm>
#include <utility>

namespace sluice {

// --- a link

size_t TestLink::waiting(Way way) {
  Pipe& pipe = PipeOf(way);
  pipe.bytes += pipe.from->TakeBytes();
  return pipe.bytes.size();
}

size_t TestLink::Carry(Way way, size_t most, size_t piece) {
  Pipe& pipe = PipeOf(way);
  const size_t wanted = std::min(most, waiting(way));
  size_t carried = 0;
  while (carried < wanted && !pipe.to->closed()) {
    if (pipe.of_to->engine().HasBacklog(pipe.to->id())) break;
    const size_t bytes = std::min(piece, wanted - carried);
    const std::string sent = pipe.bytes.substr(0, bytes);
    pipe.bytes.erase(0, bytes);
    pipe.to->SendBytes(sent);
    carried += bytes;
  }
  return carried;
}

void TestLink::Cut() {
  out_.bytes.clear();
  in_.bytes.clear();
  near().Disconnect();
  far().Disconnect();
}

bool TestLink::NoticeEnd() {
  for (const Way way : {Way::kOut, Way::kIn}) {
    Pipe& pipe = PipeOf(way);
    const bool is_left = pipe.from->closed() && !pipe.to->closed() && waiting(way) == 0;
    if (!is_left || pipe.of_to->engine().HasBacklog(pipe.to->id())) continue;
    pipe.to->Disconnect();
    return true;
  }
  return false;
}

// --- the network

TestNetwork::~TestNetwork() {
  for (const auto& [address, engine] : engines_) engine->set_network(nullptr);
}

void TestNetwork::Add(const std::string& address, TestEngine& engine) {
  engines_[address] = &engine;
  engine.set_network(this);
}

void TestNetwork::Crash(TestEngine& engine) {
  std::vector<TestClient*> left;
  for (const auto& link : links_) {
    if (link->IsOf(engine)) left.push_back(&link->OtherEnd(engine));
  }
  engine.set_network(nullptr);
  Forget(engine);
  for (TestClient* const end : left) end->Disconnect();
}

void TestNetwork::Forget(const TestEngine& engine) {
  std::erase_if(engines_, [&engine](const auto& entry) { return entry.second == &engine; });
  std::erase_if(attempts_, [&engine](const Attempt& attempt) { return attempt.from == &engine; });
  std::erase_if(links_, [&engine](const auto& link) { return link->IsOf(engine); });
}

Fault TestNetwork::Open(TestEngine& from, const LinkTarget& target, LinkListener& listener) {
  attempts_.push_back({&from, target.host + ":" + std::to_string(target.port), &listener});
  return {};
}

void TestNetwork::GiveUp(LinkListener& listener) {
  std::erase_if(attempts_,
                [&listener](const Attempt& attempt) { return attempt.listener == &listener; });
}

TestNetwork::Attempt TestNetwork::TakeNext() {
  const Attempt attempt = attempts_.front();
  attempts_.erase(attempts_.begin());
  return attempt;
}

void TestNetwork::FailNext(std::string_view why) {
  const Attempt attempt = TakeNext();
  attempt.from->engine().LinkFailed(*attempt.listener, why);
  attempt.from->Settle();
}

void TestNetwork::OpenNext() {
  const auto found = engines_.find(attempts_.front().address);
  if (found == engines_.end()) return FailNext("Connection refused");
  const Attempt attempt = TakeNext();
  TestClient& far = found->second->Connect();
  TestClient& near = attempt.from->ConnectOnly({.address = attempt.address});
  links_.push_back(std::make_unique<TestLink>(*attempt.from, near, *found->second, far));
  attempt.from->engine().LinkOpened(near.id(), *attempt.listener);
  attempt.from->Settle();
}

bool TestNetwork::CarryAll() {
  bool any = false;
  for (size_t i = 0; i < links_.size(); ++i) {  // an engine may open others meanwhile
    TestLink& link = *links_[i];
    any |= link.Carry(Way::kOut) > 0;
    any |= link.Carry(Way::kIn) > 0;
    any |= link.NoticeEnd();
  }
  return any;
}

bool TestNetwork::Settle(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const bool opens = !attempts_.empty();
    if (opens) OpenNext();
    if (!CarryAll() && !opens) return true;
  }
  return false;
}

}  // namespace sluice
