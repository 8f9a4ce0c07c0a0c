// Handshake: what a server says to the one that it is to follow until that sends it a stream, and
// what it makes of the answers. It knows no sockets and no time: bytes in, bytes out.
//
//   PING ── AUTH, REPLCONF listening-port, ip-address, capa, sluice-stream ── (INFO) ── PSYNC
//                                                                                        │
//    +FULLRESYNC id offset: an image follows; +CONTINUE [id]: the stream; -ERR: ── SYNC ─┘
//
// A Sluice says more behind these: how the stream is to be read, or its time
// ("T5000:1700000000000", engine ms and what Unix time is ahead of that), and what is reserved
// ahead for locks.
//
// It asks a Sluice whose stream that is (REPLCONF sluice-stream, and says with it what all links of
// this server have in common, so that former ones count no more): the answer names the offset from
// which that holds, as before it a server may have relayed another's, and who answers: it may be
// this server itself, or have no stream, and then refuses PSYNC. A redis-server refuses the
// question, and its role tells (INFO).
//
// The answers are a peer's: each line is bounded, and what makes no sense ends the handshake with a
// sentence. Log lines are Redis's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/log_level.h"
#include "server/replication/envelope.h"
#include "storage/log/stream_position.h"

namespace sluice {

// A server as it introduces itself, and where it wants to go on.
struct Introduction {
  std::string user;      // masteruser; empty: none
  std::string password;  // masterauth; empty: nothing is asked for
  int64_t port = 0;
  std::string address;  // where others find this server; empty: where it comes from
  // Null: it wants all data.
  struct Place {
    std::string id;
    int64_t offset = 0;  // of the last byte that it has
  };
  std::optional<Place> place;
  bool takes_over = false;  // PSYNC … FAILOVER: that server is to follow this one
  std::string run_id;       // this server's
  std::string link_id;      // of all its links; empty: it does not say
};

// The outcome of a handshake.
struct Agreement {
  enum class Kind : uint8_t {
    kNone,      // it goes on
    kContinue,  // the stream follows
    kFullSync,  // an image follows, and then the stream
    kLater,     // the other one cannot now; why_not says it
    kUseless,   // nor will it be able to; the same
  };
  Kind kind = Kind::kNone;
  std::string id;  // the stream's; of kContinue, empty: it has not changed; of SYNC: none is known
  int64_t offset = 0;                    // of kFullSync: of the image
  std::optional<StreamReading> reading;  // of kFullSync: a Sluice says how the stream goes on
  struct Time {
    int64_t engine_ms;
    int64_t unix_offset_ms;
  };
  std::optional<Time> time = std::nullopt;  // of kContinue: a Sluice's, as it answered
  std::optional<ReservedEnvelope> reserved = std::nullopt;  // and what is reserved
  bool is_silent = false;  // by SYNC: it has neither ids nor offsets
  std::string why_not;
};

class Handshake {
 public:
  static constexpr size_t kLineBytesMax = 1024;
  static constexpr size_t kInfoBytesMax = 64 * 1024;

  using Log = std::function<void(LogLevel level, std::string_view line)>;
  Handshake(Introduction introduction, Log log);

  // Appends what is said first.
  void Begin(std::string& out);
  // Takes whole answers, and appends what is said to them; returns how much it has taken. Behind
  // the last one lies the image or the stream. Requires: nothing is agreed.
  size_t Take(std::string_view bytes, std::string& out);

  const Agreement& agreement() const { return agreement_; }
  // The other server is a Sluice.
  bool is_with_sluice() const { return is_with_sluice_; }
  // The run id of that Sluice; empty: it does not say.
  const std::string& master_run_id() const { return master_run_id_; }
  // Null: it cannot be known; it is what it was.
  const std::optional<StreamOrigin>& origin() const { return origin_; }

 private:
  // The answer that comes next.
  enum class Awaited : uint8_t { kPing, kAuth, kPort, kAddress, kAbilities, kOrigin, kInfo, kSync };

  void Answer(std::string_view line, std::string& out);
  void PingAnswered(std::string_view line, std::string& out);
  void OriginAnswered(std::string_view line, std::string& out);
  void ReadInfo(std::string_view text);
  void SyncAnswered(std::string_view line, std::string& out);
  void ReadFullSync(std::string_view words);
  void ReadContinue(std::string_view words);
  void SayAll(std::string& out);
  void SayPsync(std::string& out);
  void End(Agreement::Kind kind, std::string why_not = {});

  const Introduction introduction_;
  const Log log_;
  std::vector<Awaited> awaited_;  // the last one comes first
  std::optional<size_t> info_bytes_;
  bool is_with_sluice_ = false;
  std::string master_run_id_;
  std::optional<StreamOrigin> origin_;
  Agreement agreement_;
};

}  // namespace sluice
