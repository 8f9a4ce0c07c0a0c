// TlsStream over a pair of sockets: what it holds back and what it tells of it. Nothing here waits:
// each side is asked in turn.
#include "server/net/tls/tls_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/net/tls_fixture.h"

namespace sluice {
namespace {

class TlsStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(context_.Load(certificate_.settings), "");
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_), 0);
    peer_ = std::make_unique<TlsPeer>(pair_[1]);
    stream_ = std::make_unique<TlsStream>(*context_.get(), wire_, pair_[0]);
  }
  void TearDown() override {
    stream_.reset();
    ::close(pair_[0]);
  }
  void Shake() {
    for (int i = 0; i < 10; ++i) {
      const bool peer_done = peer_->Shake();
      const bool done = stream_->Shake() == TlsStream::Progress::kDone;
      if (peer_done && done) return;
    }
    FAIL() << "the handshake does not end: " << stream_->fault();
  }
  // As the server reads: at once again only where there may be more.
  std::string ReadAll(size_t room) {
    std::string all;
    std::vector<char> into(room);
    do {
      const ssize_t got = stream_->Read(into);
      if (got < 0) return all + " end";
      all.append(into.data(), static_cast<size_t>(got));
    } while (stream_->has_more());
    return all;
  }

  OwnCertificate certificate_;
  TlsContext context_;
  TlsWire wire_;
  int pair_[2] = {-1, -1};
  std::unique_ptr<TlsPeer> peer_;
  std::unique_ptr<TlsStream> stream_;
};

TEST_F(TlsStreamTest, GivesWhatIsThereWithoutBeingToldAgain) {
  Shake();
  for (const size_t bytes : {1, 100, 16384, 16385, 32768, 50'000, 90'000}) {
    const std::string text(bytes, 'x');
    for (const size_t room : {size_t{7}, size_t{1000}, size_t{16384}, size_t{100'000}}) {
      peer_->Write(text);
      EXPECT_EQ(ReadAll(room), text) << room;
    }
  }
}

TEST_F(TlsStreamTest, ManySmallRecordsComeInOneRead) {
  Shake();
  for (int i = 0; i < 200; ++i) peer_->Write("PING\r\n");
  std::vector<char> into(16384);
  EXPECT_EQ(stream_->Read(into), 1200);
}

TEST_F(TlsStreamTest, HoldsTheTextUntilItsRecordsHaveLeft) {
  Shake();
  const int small = 4096;
  ::setsockopt(pair_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const std::string text(300'000, 'y');
  OutputBuffer output;
  output.Append(text);
  std::string come;
  bool was_held = false;
  for (int i = 0; i < 10'000 && come.size() < text.size(); ++i) {
    ASSERT_TRUE(stream_->Write(output));
    EXPECT_LE(come.size(), text.size() - output.bytes() + TlsStream::kWriteBytesMax);
    was_held |= stream_->has_unsent();
    come += peer_->Read();
  }
  ASSERT_TRUE(stream_->Write(output));
  EXPECT_TRUE(was_held);
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(come, text);
}

TEST_F(TlsStreamTest, GivesWhatCameBeforeTheEnd) {
  Shake();
  peer_->Write("last words");
  SSL_shutdown(peer_->ssl());
  EXPECT_EQ(ReadAll(16384), "last words end");
}

TEST_F(TlsStreamTest, EndsThoseWhoAskForNewKeysAllTheTime) {
  Shake();
  for (int i = 0; i < TlsStream::kKeyUpdatesMax; ++i) {
    SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    peer_->Write("a");
  }
  EXPECT_EQ(ReadAll(16384), std::string(TlsStream::kKeyUpdatesMax, 'a'));
  for (int i = 0; i <= TlsStream::kKeyUpdatesMax; ++i) {
    SSL_key_update(peer_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    peer_->Write("b");
  }
  EXPECT_EQ(ReadAll(16384), std::string(TlsStream::kKeyUpdatesMax + 1, 'b') + " end");
}

TEST_F(TlsStreamTest, TellsPlainTextFromAHandshake) {
  ASSERT_EQ(::send(pair_[1], "PING\r\n", 6, 0), 6);
  EXPECT_EQ(stream_->Shake(), TlsStream::Progress::kFailed);
  EXPECT_TRUE(stream_->is_plain());
  char said[100];
  EXPECT_GT(::recv(pair_[1], said, sizeof said, 0), 0);
  EXPECT_EQ(said[0], '-');
}

TEST_F(TlsStreamTest, AContextThatCannotBeLoadedLeavesTheOneBefore) {
  Settings settings = certificate_.settings;
  settings.tls_protocols = "TLSv1.4";
  EXPECT_NE(context_.Load(settings), "");
  settings = certificate_.settings;
  settings.tls_key_file = "/nowhere";
  EXPECT_NE(context_.Load(settings), "");
  EXPECT_TRUE(context_.is_loaded());
  Shake();
}

}  // namespace
}  // namespace sluice
