// Pub/sub on a whole engine: who gets which bytes, and what is left when sessions go.
#include "server/notify/pubsub.h"

#include "server/notify/tracking.h"
#include "tests/support/engine_fixture.h"

namespace sluice {
namespace {

class PubSubTest : public EngineFixture {
 protected:
  PubSub& pubsub() { return engine().part<PubSub>(); }
  std::string Heard(TestClient& client) {
    std::string text;
    while (const std::optional<Reply> reply = client.Next()) text += reply->ToText() + "\n";
    return text;
  }
};

TEST_F(PubSubTest, EveryReceiverGetsTheSameBytesButForTheFirst) {
  TestClient& old_one = Connect();
  TestClient& new_one = Connect();
  new_one.Run({"hello", "3"});
  for (TestClient* client : {&old_one, &new_one}) client->Run({"subscribe", "c"});
  const std::string payload(100'000, 'x');
  EXPECT_EQ(Run({"publish", "c", payload}).ToText(), ":2");
  const std::string bytes = old_one.TakeBytes();
  EXPECT_EQ(bytes[0], '*');
  EXPECT_EQ('>' + bytes.substr(1), new_one.TakeBytes());
}

TEST_F(PubSubTest, NamesGoWithTheirLastSubscriber) {
  TestClient& one = Connect();
  TestClient& other = Connect();
  one.Run({"subscribe", "a"});
  one.Run({"psubscribe", "p*"});
  other.Run({"subscribe", "a"});
  EXPECT_EQ(pubsub().Subscribers(ChannelKind::kChannel, "a"), 2u);
  one.Disconnect();
  EXPECT_EQ(pubsub().Subscribers(ChannelKind::kChannel, "a"), 1u);
  EXPECT_EQ(pubsub().names(ChannelKind::kPattern), 0u);
  other.Disconnect();
  EXPECT_EQ(pubsub().names(ChannelKind::kChannel), 0u);
  EXPECT_FALSE(pubsub().has_listeners());
}

TEST_F(PubSubTest, ManySubscriptionsComeAndGo) {
  TestClient& client = Connect();
  constexpr int kNames = 5000;
  for (int i = 0; i < kNames; ++i) client.Run({"subscribe", "c" + std::to_string(i)});
  EXPECT_EQ(Run({"publish", "c4999", "x"}).ToText(), ":1");
  EXPECT_EQ(Heard(client), "[\"message\", \"c4999\", \"x\"]\n");
  client.Send({"unsubscribe"});
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(client.Next()->ToText(), "[\"unsubscribe\", \"c" + std::to_string(i) +
                                           "\", :" + std::to_string(kNames - 1 - i) + "]");
  }
}

TEST_F(PubSubTest, ASubscriberThatDoesNotReadIsClosed) {
  Run({"config", "set", "client-output-buffer-limit", "pubsub 100kb 0 0"});
  TestClient& slow = Connect();
  slow.Run({"subscribe", "c"});
  slow.set_reading(false);
  const std::string payload(10'000, 'x');
  int sent = 0;
  while (!slow.closed() && sent < 20) {
    Run({"publish", "c", payload});
    ++sent;
  }
  EXPECT_TRUE(slow.closed());
  EXPECT_LE(sent, 11);
  EXPECT_EQ(pubsub().names(ChannelKind::kChannel), 0u);
}

TEST_F(PubSubTest, SubscribersHaveLimitsOfTheirOwnOnlyWhileTheySubscribe) {
  Run({"config", "set", "client-output-buffer-limit", "pubsub 20kb 0 0"});
  TestClient& reader = Connect();
  reader.Run({"hello", "3"});
  Run({"set", "big", std::string(50000, 'x')});
  reader.Run({"subscribe", "c"});
  reader.Run({"unsubscribe", "c"});
  EXPECT_EQ(reader.Run({"strlen", "big"}).ToText(), ":50000");
  reader.set_reading(false);
  reader.Send({"get", "big"});
  EXPECT_FALSE(reader.closed());
}

TEST_F(PubSubTest, EventsOfExpiryComeInTheOrderOfDeadlines) {
  Run({"config", "set", "notify-keyspace-events", "Ex"});
  TestClient& listener = Connect();
  listener.Run({"subscribe", "__keyevent@0__:expired"});
  for (int i = 300; i > 0; --i) {
    Run({"set", "k" + std::to_string(i), "x", "px", std::to_string(i)});
  }
  for (int i = 1; i <= 300; ++i) {
    AdvanceTime(1);
    EXPECT_EQ(Heard(listener),
              "[\"message\", \"__keyevent@0__:expired\", \"k" + std::to_string(i) + "\"]\n");
  }
}

TEST_F(PubSubTest, TrackingForgetsWhoIsGone) {
  TestClient& reader = Connect();
  reader.Run({"hello", "3"});
  reader.Run({"client", "tracking", "on"});
  reader.Run({"get", "a"});
  TestClient& watcher = Connect();
  watcher.Run({"client", "tracking", "on", "bcast", "prefix", "a"});
  EXPECT_EQ(engine().part<Tracking>().clients(), 2u);
  EXPECT_EQ(engine().part<Tracking>().prefixes(), 1u);
  reader.Disconnect();
  watcher.Disconnect();
  EXPECT_EQ(engine().part<Tracking>().clients(), 0u);
  EXPECT_EQ(engine().part<Tracking>().prefixes(), 0u);
  Run({"set", "a", "1"});
  EXPECT_EQ(engine().part<Tracking>().keys(), 0u);
  EXPECT_FALSE(engine().part<Tracking>().listens());
}

}  // namespace
}  // namespace sluice
