// TlsStream: TLS over a socket, the server's end of it unless BeClient says otherwise. A connection
// that has one reads and writes through it:
//
//   stream.Shake()                    until it is done; then
//   stream.Read(into), Write(output)  as recv and send of a plain socket, once a turn each
//
// One call makes at most one recv and one send. One recv may bring more than `into` takes:
// has_more() says that another Read gives something (or the end) though the socket is silent. Bytes
// that Write has encrypted and the socket did not take are kept; the output holds their text until
// they have left, so that all that counts what waits counts it.
//
// An idle stream keeps no buffers. A broken one gives what came before the break, then the end.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/output_buffer.h"
#include "server/net/tls/tls_wire.h"

namespace sluice {

class TlsStream final : private TlsSocket {
 public:
  enum class Progress : uint8_t { kDone, kWaits, kFailed };

  // Plain text that one Write encrypts at most.
  static constexpr size_t kWriteBytesMax = 64 * 1024;
  // In one Read; whoever asks for new keys more often only wants to keep the server busy.
  static constexpr int kKeyUpdatesMax = 16;

  // The server's end of a socket that stays the caller's. `context` may be given up by others.
  TlsStream(ssl_ctx_st& context, TlsWire& wire, int descriptor);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;

  // Makes this the client's end, before the first Shake: it asks for the server `name`, a name or
  // an address, whose certificate must be for it if `verifies`. False: it can be no name.
  bool BeClient(const std::string& name, bool verifies);

  // --- the handshake
  // A step of it, with what has come.
  Progress Shake();
  // Why it failed, as the end of a sentence.
  const std::string& fault() const { return fault_; }
  // The peer's first byte began no handshake: it does not speak TLS.
  bool is_plain() const { return first_byte_ >= 0 && first_byte_ != kHandshakeRecord; }
  // The common name of the client's certificate, which has been verified; empty: none.
  std::string PeerName() const;

  // --- text
  // Bytes read; 0: nothing there now; -1: the peer has closed or the connection broke.
  ssize_t Read(std::span<char> into);
  bool has_more() const { return holds_more_ || socket_has_more_; }
  // Sends of what `output` may send. False: the connection broke.
  bool Write(OutputBuffer& output);
  // Records that the socket has not taken: to be flushed when it takes bytes again.
  bool has_unsent() const { return !unsent_.empty(); }
  // False: the connection broke.
  bool Flush();
  // The next Write is of another output than the one before.
  void ForgetOutput() { in_flight_ = 0; }
  // Tells the peer that this is the end, if the socket takes it.
  void SayGoodbye();

 private:
  static constexpr int kHandshakeRecord = 0x16;

  int Receive(char* into, int size, bool& retry) override;
  void Gather(const char* bytes, int size) override { wire_.gathered.append(bytes, size); }
  static void MessageSeen(int is_ours, int version, int type, const void* bytes, size_t size,
                          ssl_st* ssl, void* stream);
  Progress ShakingFailed();
  ssize_t SendNow(std::string_view bytes);
  bool IsBroken(int result);

  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  TlsWire& wire_;
  const int descriptor_;
  int first_byte_ = -1;
  int key_updates_ = 0;
  bool is_client_ = false;        // of the two ends
  bool is_shaken_ = false;        // the handshake is done
  bool received_ = false;         // this call had its recv
  bool socket_has_more_ = false;  // or may have: the last recv was not the last
  bool holds_more_ = false;       // what the last Read did not give
  bool ended_ = false;            // there is nothing to read any more
  size_t in_flight_ = 0;          // bytes of the output that `unsent_` stands for
  std::string unsent_;            // records
  std::string fault_;
  std::unique_ptr<ssl_st, Free> ssl_;
};

}  // namespace sluice
