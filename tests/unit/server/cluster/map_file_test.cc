// Maps as files: what is read, what is refused with its line, and that what is written is read
// again as the same.
#include "server/cluster/map_file.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

const std::string kId = "07c37dfeb235213a872192d90877d0cd55635b91";

MapFile Read(std::string_view text, MapRules rules = {}) {
  auto read = ReadMapFile(text, rules);
  if (const Fault* const fault = std::get_if<Fault>(&read)) ADD_FAILURE() << fault->sentence();
  return std::holds_alternative<MapFile>(read) ? std::get<MapFile>(std::move(read)) : MapFile{};
}

std::string FaultOf(std::string_view text, MapRules rules = {}) {
  auto read = ReadMapFile(text, rules);
  const Fault* const fault = std::get_if<Fault>(&read);
  return fault ? fault->sentence() : "none";
}

TEST(MapFile, GivesSlotsToServers) {
  const MapFile file =
      Read(Concat("# three servers\n\nepoch 7\n0-8191 10.0.0.1:6379\n"
                  "8192-16382\t10.0.0.2:6380 ",
                  kId, "\r\n16383 10.0.0.2:6380\nreplica-of ", kId, " [::1]:7000\n"),
           {.needs_all_slots = true});
  const SlotMap& map = file.map;
  EXPECT_EQ(map.epoch(), 7u);
  ASSERT_EQ(map.nodes().size(), 3u);
  EXPECT_EQ(map.OwnerOf(0)->host, "10.0.0.1");
  EXPECT_EQ(map.OwnerOf(0)->id, NodeIdOf("10.0.0.1", 6379));
  EXPECT_EQ(map.OwnerOf(16383)->id, kId);
  EXPECT_EQ(map.RangesOf(1), (std::vector<SlotRange>{{8192, 16383}}));
  EXPECT_EQ(map.nodes()[2].host, "::1");
  EXPECT_EQ(map.nodes()[2].master, 1u);
  EXPECT_EQ(map.ReplicasOf(1), std::vector<size_t>{2});
  EXPECT_FALSE(file.me);
}

TEST(MapFile, AReplicaMayStandBeforeItsMaster) {
  const MapFile file = Read("replica-of a:1 b:2\n5 a:1\nme b:2");
  EXPECT_EQ(file.map.nodes()[0].host, "b");
  EXPECT_EQ(file.map.nodes()[0].master, 1u);
  EXPECT_EQ(file.me, 0u);
}

TEST(MapFile, IsWrittenAsItIsRead) {
  const MapFile file = Read(Concat("epoch 3\n0-5 a:1\n7 a:1\n9-16383 [fe80::1%eth0]:2 ", kId,
                                   "\nreplica-of a:1 c:3\nme a:1\n"));
  const std::string text = MapFileText(file);
  const MapFile again = Read(text);
  EXPECT_EQ(again.map.RangesOf(*again.map.FindAddress("a", 1)), file.map.RangesOf(0));
  EXPECT_EQ(again.map.nodes()[*again.me].host, "a");
  EXPECT_EQ(MapFileText(again), text);
}

TEST(MapFile, AServerMayHaveNoSlotsAndAnEpochOfItsOwn) {
  const MapFile file = Read(Concat("server b:2\nserver c:3 ", kId,
                                   " 4\n0-5 a:1\nepoch 7\nreplica-of a:1 d:4\n"
                                   "server d:4 ",
                                   NodeIdOf("d", 4), " 6\n"));
  const SlotMap& map = file.map;
  ASSERT_EQ(map.nodes().size(), 4u);
  EXPECT_EQ(map.nodes()[0].epoch, 7u);  // as new as the map
  EXPECT_EQ(map.nodes()[1].epoch, 4u);
  EXPECT_EQ(map.nodes()[3].epoch, 6u);
  const std::string text = MapFileText(file);
  EXPECT_EQ(MapFileText(Read(text)), text);
  EXPECT_EQ(Read("server a:1 " + kId + " 9").map.epoch(), 9u);
  EXPECT_EQ(FaultOf("server a:1 " + kId + " x"), "line 1: 'x' is no epoch");
  EXPECT_EQ(FaultOf("server a:1 " + kId + " 3 4"), "line 1: there is too much behind the server");
}

// The order of lines says nothing.
TEST(MapFile, TheDigestIsOfWhatItSays) {
  const SlotMap map = Read("0-5 a:1\n6 b:1\nserver c:1\n").map;
  EXPECT_EQ(DigestOf(map), DigestOf(Read("server c:1\n6 b:1\n0-3 a:1\n4-5 a:1\n").map));
  EXPECT_NE(DigestOf(map), DigestOf(Read("0-5 a:1\n6 b:1\n").map));
  EXPECT_NE(DigestOf(map), DigestOf(Read("epoch 1\n0-5 a:1\n6 b:1\nserver c:1\n").map));
}

// As `redis-cli --cluster create` leaves it.
TEST(MapFile, ReadsTheFileOfRedis) {
  const std::string master(40, 'a'), replica(40, 'b'), unknown(40, 'c');
  const MapFile file =
      Read(Concat(replica, " 127.0.0.1:7002@17002 slave ", master, " 0 1700000000000 3 connected\n",
                  master, " 127.0.0.1:7001@17001,name myself,master - 0 0 3 connected 0-5 7 [9->-",
                  unknown, "]\n", unknown, " :0@0 master,noaddr - 0 0 2 disconnected\n",
                  "vars currentEpoch 6 lastVoteEpoch 0\n"));
  EXPECT_EQ(file.map.nodes().size(), 2u);
  EXPECT_EQ(file.map.epoch(), 6u);
  EXPECT_EQ(file.map.nodes()[*file.me].id, master);
  EXPECT_EQ(file.map.RangesOf(*file.me), (std::vector<SlotRange>{{0, 5}, {7, 7}}));
  EXPECT_EQ(file.map.nodes()[0].master, file.me);
}

// A server that has not been told how others reach it.
TEST(MapFile, AFileOfOneServerNeedsNoHost) {
  const std::string line = Concat(kId, " :0@0 myself,master - 0 0 0 connected 0-5\n");
  EXPECT_EQ(FaultOf(line), "line 1: a server is host:port");
  const MapFile file = Read(line, {.needs_hosts = false});
  EXPECT_EQ(file.map.nodes()[*file.me].host, "");
  EXPECT_EQ(MapFileText(Read(MapFileText(file), {.needs_hosts = false})), MapFileText(file));
}

TEST(MapFile, SaysWhichLineIsWrong) {
  EXPECT_EQ(
      FaultOf("0-16384 a:1"),
      "line 1: it begins with none of: first-last (slots 0 to 16383), server, replica-of, epoch, "
      "#");
  EXPECT_EQ(FaultOf("5-4 a:1").substr(0, 10), "line 1: it");
  EXPECT_EQ(FaultOf("\n-1 a:1").substr(0, 10), "line 2: it");
  EXPECT_EQ(FaultOf("0-5 a:1\n5 b:2"), "line 2: slot 5 is of a:1 already");
  EXPECT_EQ(FaultOf("0-5 a"), "line 1: a server is host:port");
  EXPECT_EQ(FaultOf("0-5 a:0"), "line 1: a server is host:port");
  EXPECT_EQ(FaultOf("0-5 a:65536"), "line 1: a server is host:port");
  EXPECT_EQ(FaultOf("0-5 a b:1"), "line 1: a server is host:port");
  EXPECT_EQ(FaultOf("0-5 a$:1"), "line 1: a server is host:port");
  EXPECT_EQ(FaultOf("0-5 a:1 12"), "line 1: an id has 40 hexadecimal digits");
  EXPECT_EQ(FaultOf(Concat("0-5 a:1 ", kId, " more")),
            "line 1: there is too much behind the server");
  EXPECT_EQ(FaultOf(Concat("0-5 a:1 ", kId, "\n6 b:1 ", kId)),
            Concat("line 2: two servers have the id ", kId));
  EXPECT_EQ(FaultOf(Concat("0-5 a:1\n6 a:1 ", kId)),
            Concat("line 2: a:1 has two ids, ", NodeIdOf("a", 1), " and ", kId));
  EXPECT_EQ(FaultOf("epoch"), "line 1: an epoch is one number: \"epoch 7\"");
  EXPECT_EQ(FaultOf("epoch 9223372036854775807"), "line 1: an epoch above 9007199254740992");
  EXPECT_EQ(FaultOf("0 a:1\nme b:1"), "no server of the map is \"me\": 'b:1'");
  EXPECT_EQ(FaultOf("0-16382 a:1", {.needs_all_slots = true}), "slot 16383 is of no server");
}

TEST(MapFile, RefusesRolesThatMakeNoSense) {
  EXPECT_EQ(FaultOf("replica-of a:1 b:1"), "line 1: no server of the map is the master 'a:1'");
  EXPECT_EQ(FaultOf("replica-of b:1 b:1"), "line 1: b:1 is to follow itself");
  EXPECT_EQ(FaultOf("0 a:1\nreplica-of a:1 b:1\nreplica-of b:1 c:1"),
            Concat("line 3: c:1 is to follow a replica, ", NodeIdOf("b", 1)));
  EXPECT_EQ(FaultOf("0 a:1\n1 b:1\nreplica-of a:1 b:1"), "line 3: b:1 is a replica, and has slots");
  EXPECT_EQ(FaultOf("0 a:1\n1 b:1\nreplica-of a:1 c:1\nreplica-of b:1 c:1"),
            "line 4: c:1 has two masters");
}

TEST(MapFile, ServersAreBounded) {
  std::string text;
  for (size_t i = 1; i <= SlotMap::kNodesMax; ++i) ConcatTo(text, i, " a:", i, "\n");
  EXPECT_EQ(FaultOf(text), "none");
  ConcatTo(text, "0 b:1\n");
  EXPECT_EQ(FaultOf(text), "line 1001: more than 1000 servers");
}

}  // namespace
}  // namespace sluice
