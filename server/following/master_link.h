// MasterLink: the connection to the server that is followed, from opening it to the stream, and
// anew whenever it is lost: at once, and then every second; after nonsense, and where an image
// cannot be kept, less often. It has no
// sockets (Links) and no clock of its own; what is made of the data and the stream is its
// follower's.
//
//   kOff ── Follow ──> kConnect ──> kConnecting ──> kHandshake ──┬───────── +CONTINUE ─────────┐
//                         ^              │              │        └─> kTransfer ──> kLoading ──>
//                         kConnected └──────────────┴──────────────┴──── lost, or silent
//                         ────────┴────────────┘
//
// In each state but kOff and kConnect there is a link, and in kTransfer a file that the image is
// written to. Bytes of the master are bounded at each step; a lie is a log line and a closed link.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/clients/clients.h"
#include "server/clients/host.h"
#include "server/clients/link_listener.h"
#include "server/clients/links.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/following/handshake.h"
#include "server/following/image_file.h"
#include "server/following/image_reader.h"

namespace sluice {

enum class LinkState : uint8_t {
  kOff,
  kConnect,     // to be opened
  kConnecting,  // it is being opened
  kHandshake,
  kTransfer,  // the image comes
  kLoading,   // and is loaded
  kConnected,
};

// The one who follows over the link.
class LinkFollower {
 public:
  virtual ~LinkFollower() = default;
  // Where it wants to go on; null: it wants all data.
  virtual std::optional<Introduction::Place> PlaceWanted() = 0;
  // Not while data are loaded.
  virtual bool MayConnect() const = 0;
  virtual const std::string& RunId() const = 0;
  // Only this server can have given the other one that history; empty: that of PlaceWanted.
  virtual bool HasMade(std::string_view id) const = 0;
  // An image is about to come, of this moment.
  virtual void FullSyncBegins() = 0;
  // The master's stream goes on where this server is. The link's bytes are requests from here on.
  virtual void GoOn(const Agreement& agreement) = 0;
  // The image is in the file, which is the follower's from here on. It calls Loaded.
  virtual void TakeImage(const std::string& path, const Agreement& agreement) = 0;
  // The link is lost, while it was being loaded or connected, too. Whom it follows stays: the same
  // server is called again.
  virtual void LinkLost() = 0;
  // PSYNC … FAILOVER has made the other one a master; or why not.
  virtual void TakeOverEnded(std::string_view refusal) = 0;
};

class MasterLink final : private LinkListener {
 public:
  // The parts that it works with; all of them outlive the link.
  struct Uses {
    const Config& config;
    Host& host;
    const TurnClock& clock;
    Clients& clients;
    Links& links;
    int64_t process_id;
  };
  MasterLink(const Uses& uses, LinkFollower& follower);
  ~MasterLink() override;

  // --- for the follower
  // From now on that server is followed, and no other.
  void Follow(std::string host, int port);
  // If it is to be opened, and may be: LinkFollower::MayConnect.
  void TryNow();
  // No server is followed.
  void Stop();
  // The next one to be followed is asked to take over (PSYNC … FAILOVER).
  void set_takes_over(bool on) { takes_over_ = on; }
  // The image that was taken has been loaded, or could not be.
  void Loaded(bool is_whole);
  // Says up to which offset the stream has been applied, and is on disk, if that is known. Nothing
  // while it is not connected.
  void Acknowledge(int64_t applied, std::optional<int64_t> synced);
  // The master talks nonsense, or it is of no use to ask it soon again. Later it is asked anew. The
  // same reason is logged once.
  void Drop(std::string_view why);
  // A request of it has come.
  void Heard() { since_ms_ = now_ms(); }
  // It waits while an image is looked through and loaded, or a script runs late, and would take
  // silence for an end. Once a second says so.
  void KeepAwake();
  void EverySecond();
  void TimeShifted(int64_t ms);

  // --- as it is seen
  LinkState state() const { return state_; }
  bool is_link(const Session& session) const { return session_ == session.id; }
  bool is_with_sluice() const { return is_with_sluice_; }
  const std::optional<StreamOrigin>& origin() const { return origin_; }
  const std::string& master_run_id() const { return master_run_id_; }  // see Handshake
  int64_t silent_s() const;  // since the master's last word; -1: there is no link
  int64_t down_s() const;    // since the link was lost
  // The image that comes, in bytes.
  uint64_t image_total() const { return reader_.total(); }
  uint64_t image_received() const { return reader_.received(); }
  int64_t image_silent_s() const;
  // The session of it; null: there is none.
  Session* session() const;
  const std::string& host() const { return host_; }
  int port() const { return port_; }

 private:
  // --- LinkListener
  void LinkOpened(Session& session) override;
  void LinkFailed(std::string_view why) override;
  size_t LinkReceived(Session& session, std::string_view bytes) override;
  void LinkClosed(Session& session) override;

  void Connect();
  // The session of a link that stands. Requires: there is one, as in each state behind kConnecting.
  Session& standing() const;
  Introduction Introduce() const;
  void MakeId();
  size_t TakeWhole(Session& session, std::string_view bytes, size_t before);
  bool IsAnswerAwaited() const;
  size_t TakeAnswers(Session& session, std::string_view bytes);
  void Agreed();
  bool IsCircle() const;
  void BeginTransfer();
  size_t TakeImage(std::string_view bytes);
  void ImageProgressed();
  void GiveUp();
  void Retry(std::string_view why);
  bool AnyUnread() const;
  void NoteHalfRequests();
  void Say(std::string_view bytes);
  void Log(LogLevel level, std::string_view line) const { on_.host.Log(level, line); }
  int64_t now_ms() const { return on_.clock.now().ms(); }

  const Uses on_;
  LinkFollower& follower_;
  std::string host_;
  int port_ = 0;
  LinkState state_ = LinkState::kOff;
  bool takes_over_ = false;
  bool is_with_sluice_ = false;
  std::optional<StreamOrigin> origin_;
  std::string master_run_id_;
  // All links of this server have it. Masters alone are told; there, whoever may SLOWLOG sees it
  // too.
  std::string id_;
  std::optional<SessionId> session_;
  std::optional<Handshake> handshake_;
  std::string unread_;  // an answer, or the image's head, as far as it has come
  Agreement agreement_;
  ImageReader reader_;
  std::unique_ptr<ImageFile> file_;
  uint64_t files_ = 0;        // that were begun
  int64_t since_ms_ = 0;      // in this state, or since bytes have come
  uint64_t heard_bytes_ = 0;  // of the link, when that was looked at
  int64_t kept_awake_ms_ = 0;
  int64_t next_try_ms_ = 0;
  int64_t faults_ = 0;      // since a link stood, one after the other
  std::string last_fault_;  // of these, as it was logged
  int64_t down_since_ms_ = 0;
  int64_t lost_ = 0;  // links that stood, less one for each second in which one stands
};

}  // namespace sluice
