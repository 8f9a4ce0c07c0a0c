// RequestReader: the bytes of one connection, cut into requests of HTTP/1 by Boost.Beast. A request
// is bounded, also before it is whole: 8 KiB of head, 16 KiB of body.
//
//   reader.Feed(bytes);
//   while (reader.Next(request) == RequestReader::Found::kRequest) ...
//
// After a fault nothing that follows can be understood: the connection is to be closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace sluice {

class RequestReader {
 public:
  enum class Found : uint8_t { kNothingYet, kRequest, kFault };
  static constexpr size_t kHeadBytesMax = 8 * 1024;
  static constexpr size_t kBodyBytesMax = 16 * 1024;
  // A peer that pipelines is read again when what it has sent is answered.
  static constexpr size_t kWaitingBytesMax = kHeadBytesMax + kBodyBytesMax;

  RequestReader();
  ~RequestReader();

  void Feed(std::string_view bytes) { bytes_ += bytes; }
  // How many bytes it takes now.
  size_t room() const { return kWaitingBytesMax - std::min(kWaitingBytesMax, bytes_.size()); }
  // Something of a request is here.
  bool is_inside() const { return is_inside_ || !bytes_.empty(); }
  // The next request; who asks is for the caller to say.
  Found Next(HttpRequest& request);
  // As the request that was given last says.
  bool wants_close() const { return wants_close_; }
  bool is_old() const { return is_old_; }  // HTTP/1.0
  // The status that tells of the fault.
  int fault() const { return fault_; }

 private:
  struct Parser;
  void Take(HttpRequest& request);

  std::unique_ptr<Parser> parser_;  // of the request that is being read
  std::string bytes_;               // that it has not taken
  bool is_inside_ = false;
  bool wants_close_ = false;
  bool is_old_ = false;
  int fault_ = 0;
};

}  // namespace sluice
