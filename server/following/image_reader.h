// ImageReader: cuts the image of a full sync out of what a master sends: an RDB file with its
// length in front, or between two marks.
//
//   \n \n $1234\r\n <1234 bytes>
//   \n \n $EOF:<40 bytes>\r\n <any bytes> <the same 40 bytes>
//
// Newlines before it keep the link awake while the image is made. Behind a mark nothing comes until
// the replica has acknowledged, so the mark is what the bytes so far end with. The file itself is
// looked at by who loads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

class ImageReader {
 public:
  static constexpr size_t kMarkBytes = 40;
  static constexpr size_t kHeadBytesMax = 1024;
  // No disk is larger: a greater length is a lie.
  static constexpr int64_t kImageBytesMax = int64_t{1} << 48;

  enum class State : uint8_t { kHead, kBytes, kEnd, kFault };

  // Takes bytes, and appends those of the file to `file`. Returns how much it has taken: all, but
  // what follows the end, or a head that is not whole.
  size_t Take(std::string_view bytes, std::string& file);

  State state() const { return state_; }
  bool has_mark() const { return !mark_.empty(); }
  uint64_t total() const { return total_; }            // 0: not known
  uint64_t received() const { return received_; }      // of the file, with what may be the mark
  const std::string& fault() const { return fault_; }  // a whole sentence

 private:
  size_t TakeHead(std::string_view bytes);
  void ReadHead(std::string_view line);
  size_t TakeMeasured(std::string_view bytes, std::string& file);
  size_t TakeMarked(std::string_view bytes, std::string& file);
  void Fail(std::string fault);

  State state_ = State::kHead;
  uint64_t total_ = 0;
  uint64_t received_ = 0;
  std::string mark_;
  std::string tail_;  // the last bytes, which may be the mark
  std::string fault_;
};

}  // namespace sluice
