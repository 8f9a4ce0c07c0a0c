// FileSource: a regular file as a ByteSource. Anything else (a folder, a pipe, a device) is refused
// before it can keep a reader waiting.
//
// It owns its descriptor.
#pragma once

#include <string>

#include "protocol/text/fault.h"
#include "storage/rdb/byte_source.h"

namespace sluice {

class FileSource final : public ByteSource {
 public:
  FileSource() = default;
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  // A sentence why it cannot be read; empty when it can.
  Fault Open(const std::string& path);
  uint64_t size() const { return size_; }  // when it was opened
  int fault() const { return fault_; }     // the errno of a Read that has failed

  std::optional<size_t> Read(char* into, size_t bytes) override;
  // As it was when the file was opened: what another program appends meanwhile is not counted.
  uint64_t left() const override { return read_ < size_ ? size_ - read_ : 0; }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
  uint64_t read_ = 0;
  int fault_ = 0;
};

}  // namespace sluice
