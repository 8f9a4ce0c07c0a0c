// MapExchange: how the maps of a cluster that no operator's file rules become one. A server whose
// map has changed tells it to each server of it, over a connection of its own (CLUSTER MAP PUT);
// that one merges it with its own (map_merge.h), and answers with what it has then. Once two have
// agreed on a digest nothing is said until one of them changes; who cannot be reached is tried
// again, ever less often. There is no other traffic, and nobody is held for failed.
//
//   CLUSTER MEET 10.0.0.7 6379      asks that server to let this one in: PUT <map> MEET
//   CLUSTER MAP PUT <map> [MEET]    → [digest], or [digest, map] where the asker lacks something
//
// Without MEET a server that the map does not have is refused. One that was forgotten (CLUSTER
// FORGET) is not let in by others' maps for a minute, so that it can be forgotten everywhere.
//
// Bounds: kActiveMax questions at a time, kMeetsMax servers being met, and maps as map_file.h reads
// them. The operator's own map (cluster-map) is never told, and takes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/clients/host.h"
#include "server/cluster/cluster_state.h"
#include "server/cluster/map_merge.h"
#include "server/peers/map_changes.h"
#include "server/peers/peer_link.h"

namespace sluice {

class MapExchange final : private MapListener, private PeerAsker {
 public:
  static constexpr size_t kActiveMax = 32;
  static constexpr size_t kMeetsMax = 100;
  static constexpr int64_t kForgottenMs = 60'000;
  static constexpr int64_t kMeetMs = 15'000;

  struct Uses {
    Host& host;
    ClusterState& cluster;
    MapChanges& changes;
    PeerLink::Uses links;
  };
  explicit MapExchange(const Uses& uses);
  ~MapExchange() override;

  // --- commands
  // Begins to ask that server; how it ends is in the log. A sentence: it is not asked.
  Fault Meet(std::string_view host, uint16_t port);
  struct Put {
    std::string_view text;
    std::string_view from;  // where the asker comes from, if it does not know its own address
    bool meets = false;
  };
  // Another server's map is merged. `text` is empty where it says what the answer would.
  struct Answer {
    std::string digest;
    std::string text;
  };
  std::variant<Answer, Fault> Take(const Put& put);
  // For a minute no map brings that server back.
  void Forget(const std::string& id);
  // The server begins anew: nobody is forgotten or being met.
  void Reset();

  // --- time
  void EverySecond();
  void TimeShifted(int64_t ms);

  // --- as it is seen
  // The servers that are not known to have this map.
  void ForEachThatDiffers(absl::FunctionRef<void(const ClusterNode&)> visit) const;
  // Whether the last question was answered; also of one that was never asked.
  bool IsReachable(const std::string& id) const;
  // The one told last that this server, or its master, has no slots left; its line is to be joined.
  // Null: there is none.
  std::optional<std::string> TakeHeir() { return std::exchange(heir_, std::nullopt); }

 private:
  // Another server of the map by its id, or one that is being met by its address.
  struct Peer {
    std::unique_ptr<PeerLink> link;
    PeerLink::Address address;
    bool is_met = false;   // by CLUSTER MEET
    bool is_over = false;  // to be removed in the next second
    int64_t since_ms = 0;
    std::string agreed;  // digest that both had
    std::string fault;   // of the last question
    int faults = 0;      // one after the other
    int64_t delay_ms = 0;
    int64_t next_try_ms = 0;
  };
  using Peers = std::map<std::string, Peer>;

  void MapChanged() override;
  void PeerAnswered(PeerLink& link, const PeerAnswer& answer) override;
  void PeerFailed(PeerLink& link, std::string_view why) override;

  bool is_on() const;
  int64_t now_ms() const { return on_.links.clock.now().ms(); }
  Peers::iterator Find(const PeerLink& link);
  Peer MakePeer(PeerLink::Address address);
  void KeepPeers();
  void AskAll();
  bool IsDue(const Peer& peer) const;
  void Ask(Peer& peer);
  void Failed(const std::string& name, Peer& peer, std::string_view why);
  struct Sender {
    std::string id;
    std::string digest;  // of what it has sent
  };
  Fault Merge(std::string_view text, const PeerLink::Address& from, bool is_let_in, Sender& sender);
  Fault MergeRead(MapFile file, const PeerLink::Address& from, bool is_let_in);
  Fault LearnOwnHost(const SlotMap& theirs);
  std::vector<std::string> ForgottenNow() const;

  const Uses on_;
  Peers peers_;
  std::string last_asked_;                    // of peers_; the next in order is asked next
  std::map<std::string, int64_t> forgotten_;  // until when, by ids
  std::string digest_;                        // of the map
  std::string text_;                          // it, with this server in it
  std::optional<std::string> heir_;
};

}  // namespace sluice
