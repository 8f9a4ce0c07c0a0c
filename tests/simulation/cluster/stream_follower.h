// StreamFollower: a replica without an engine. It speaks the protocol, keeps the stream's bytes and
// what they say of registers (SET), and acknowledges late. Its bytes are held against those that
// others were sent:
//
//   one history (id) has one byte at each offset, whoever is sent it, and when
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {

// All that was sent of every history.
class StreamLedger {
 public:
  // The bytes from this offset on, which counts from 0. Whether they are those of before.
  bool Add(const std::string& id, int64_t offset, std::string_view bytes);

 private:
  // Pieces by their first offset: a full sync may leave out what nobody was sent.
  std::map<std::string, std::map<int64_t, std::string>> pieces_;
};

class StreamFollower final : public End {
 public:
  struct Counts {
    int full = 0;
    int partial = 0;
    int64_t bytes = 0;
  };
  StreamFollower(World& world, Machine& master, StreamLedger& ledger);
  ~StreamFollower() override;

  // Connects, and again whenever the link is gone.
  void Begin();
  // Whether it has a value of a register that nobody wrote before `since`: it was sent that, or an
  // image of later.
  bool Has(const std::string& value, int64_t since) const {
    return values_.contains(value) || image_of_ >= since;
  }
  // The last value of each register that was written behind its image.
  const std::map<std::string, std::string>& registers() const { return registers_; }
  const Counts& counts() const { return counts_; }
  std::string Show() const;  // for readers: where it is

 private:
  // The next thing to come on the link.
  enum class Stage : uint8_t { kNothing, kPort, kAbilities, kResync, kImage, kStream };

  void Arrived(std::string_view bytes) override;
  void Ended() override;
  void Connect();
  void Leave();
  void Say(const std::vector<std::string>& words);
  bool ReadOne();
  bool ReadLine(std::string& line);
  bool ReadAnswer();
  bool ReadResync();
  bool ReadImage();
  bool ReadCommand();
  void Apply(const std::vector<std::string>& words);
  void Acknowledge();

  World& world_;
  Machine& master_;
  StreamLedger& ledger_;
  const Site site_;
  Network::Handle connection_;
  uint64_t links_ = 0;
  int64_t heard_at_ = 0;
  Stage stage_ = Stage::kNothing;
  std::string received_;
  std::string image_mark_;
  std::string id_ = "?";
  int64_t offset_ = 0;  // bytes of the stream that it has
  std::map<std::string, std::string> registers_;
  std::set<std::string> values_;  // that it was sent
  int64_t image_began_ = 0;       // when the line came that announces it: its instant is before
  int64_t image_of_ = -1;         // the same of the image that it has
  Counts counts_;
};

}  // namespace sluice::cluster
