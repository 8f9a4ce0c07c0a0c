// Connection: a socket of a peer. Readiness is reported to its owner; reading and writing happen
// once a turn, so that a turn's system calls are counted and batched.
//
// Its owner holds it by an intrusive_ptr, since it may be let go while it is being told of an
// event, and outlives it, unless it is closed before. Only the loop's thread has pointers to it: a
// shared_ptr would cost each request two fences, and each connection 40 bytes. A send takes at most
// 64 blocks. With TLS it reads and writes through a TlsStream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "boost/smart_ptr/intrusive_ptr.hpp"
#include "server/clients/session.h"
#include "server/net/loop/poller.h"
#include "server/net/sources.h"
#include "server/net/tls/tls_stream.h"

namespace sluice {

class Connection;

// The part of the server that a connection is for now.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // The one set in which connections are watched, whosever they are: a word less in each of them.
  virtual Poller& poller() = 0;
  // Others are yet to be told: only to be noted.
  virtual void Readable(Connection& connection) = 0;
  virtual void Writable(Connection& connection) = 0;
};

class Connection : private ReadinessWatcher {
 public:
  // Owns the non-blocking socket `descriptor`, and counts among those of its source.
  Connection(Sources& sources, int descriptor, ConnectionOwner& owner);
  ~Connection() override;
  Connection(const Connection&) = delete;

  // How many pointers there are to it. It goes with the last one.
  void AddReference() { ++references_; }
  void DropReference() {
    if (--references_ == 0) delete this;
  }

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // Its events go to that one from now on.
  void set_owner(ConnectionOwner& owner) { owner_ = &owner; }
  ConnectionOwner& owner() const { return *owner_; }
  // From now on all bytes go through it. Null: they go as they are.
  void Secure(std::unique_ptr<TlsStream> tls) { tls_ = std::move(tls); }
  TlsStream* tls() const { return tls_.get(); }
  // One recv. Bytes read; 0: nothing there now; -1: the peer has closed or the connection broke.
  ssize_t Read(std::span<char> into);
  // The end of the stream is behind what there is to read.
  bool ended() const { return ended_; }
  // After a Read that gave `got` bytes into room for `size`: there may be more though no edge
  // tells.
  bool MayHaveMore(size_t got, size_t size) const {
    if (tls_) return tls_->has_more() || ended_;
    return got == size || (got > 0 && ended_);
  }
  // One send of what `output` holds. False: the connection broke.
  bool Write(OutputBuffer& output);
  // Its client is another now, with an output of its own.
  void ForgetOutput() {
    if (tls_) tls_->ForgetOutput();
  }
  // The kernel asks a silent peer every so many seconds whether it is there; 0: never. Not of one
  // that is watched.
  void KeepAlive(int64_t seconds) const {
    if (!is_watched_) KeepSocketAlive(descriptor_, seconds);
  }
  static void KeepSocketAlive(int descriptor, int64_t seconds);
  // The kernel ends the connection when the peer has not answered it for so long; 0: no more. Has
  // no effect where there is no TCP.
  void WatchPeer(int64_t timeout_ms);
  void GatherPackets();
  void AwaitWritable() { owner_->poller().AwaitWritable(descriptor_); }
  void Close();

 private:
  void Readable(bool ended_too) override;
  void Writable() override;

  ConnectionOwner* owner_;
  Sources::Place place_;
  std::unique_ptr<TlsStream> tls_;
  int descriptor_;
  // At most a handful: its owner's, those of lists and of calls that are going on.
  uint16_t references_ = 0;
  bool ended_ : 1 = false;
  bool is_watched_ : 1 = false;
};

inline void intrusive_ptr_add_ref(Connection* connection) { connection->AddReference(); }
inline void intrusive_ptr_release(Connection* connection) { connection->DropReference(); }

}  // namespace sluice
