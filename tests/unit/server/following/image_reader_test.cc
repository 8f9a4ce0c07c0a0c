// The image of a full sync among what a master sends, cut anywhere.
#include "server/following/image_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sluice {
namespace {

using State = ImageReader::State;

const std::string kMark = "0123456789012345678901234567890123456789";

// All of it in pieces; what was not taken is shown again.
struct ImageRead {
  ImageReader reader;
  std::string file;
  std::string left;

  ImageRead(std::string_view bytes, size_t piece) {
    while (!bytes.empty()) {
      left += bytes.substr(0, piece);
      bytes.remove_prefix(std::min(piece, bytes.size()));
      left.erase(0, reader.Take(left, file));
    }
  }
};

TEST(ImageReader, ALengthOrAMarkEndsIt) {
  const std::string data = "REDIS0010\r\n\n" + kMark.substr(1) + std::string(100, 'z');
  const std::string measured =
      "\n\n$" + std::to_string(data.size()) + "\r\n" + data + "*1\r\n$4\r\nPING\r\n";
  const std::string marked = "\n$EOF:" + kMark + "\r\n" + data + kMark;
  for (size_t piece = 1; piece < measured.size(); ++piece) {
    const ImageRead one(measured, piece);
    EXPECT_EQ(one.reader.state(), State::kEnd) << piece;
    EXPECT_EQ(one.file, data) << piece;
    EXPECT_EQ(one.left, "*1\r\n$4\r\nPING\r\n") << piece;
    EXPECT_EQ(one.reader.total(), data.size());
    const ImageRead other(marked, piece);
    EXPECT_EQ(other.reader.state(), State::kEnd) << piece;
    EXPECT_EQ(other.file, data) << piece;
    EXPECT_TRUE(other.reader.has_mark());
  }
}

TEST(ImageReader, ItMayBeEmpty) {
  EXPECT_EQ(ImageRead("$0\r\n", 1).reader.state(), State::kEnd);
  const ImageRead marked("$EOF:" + kMark + "\r\n" + kMark, 7);
  EXPECT_EQ(marked.reader.state(), State::kEnd);
  EXPECT_EQ(marked.file, "");
}

TEST(ImageReader, AMarkInTheMiddleIsNone) {
  const ImageRead read("$EOF:" + kMark + "\r\n" + kMark + "more", SIZE_MAX);
  EXPECT_EQ(read.reader.state(), State::kBytes);
}

TEST(ImageReader, LiesAreFaults) {
  const std::string heads[] = {"$4611686018427387904\r\n",
                               "$-1\r\n",
                               "$\r\n",
                               "$12a\r\n",
                               "$EOF:short\r\n",
                               "-ERR no\r\n",
                               "+HELLO\r\n",
                               std::string(2000, '$'),
                               "$99999999999999999999999\r\n"};
  for (const std::string& head : heads) {
    const ImageRead read(head, 3);
    EXPECT_EQ(read.reader.state(), State::kFault) << head;
    EXPECT_NE(read.reader.fault(), "") << head;
    EXPECT_EQ(read.file, "");
  }
}

}  // namespace
}  // namespace sluice
