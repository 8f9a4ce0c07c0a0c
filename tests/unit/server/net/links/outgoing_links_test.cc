// Links through real sockets of this machine: those that open, and all the ways in which one may
// fail to. Time-outs are short where the peer is to be silent.
#include "server/net/links/outgoing_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "protocol/text/concat.h"
#include "server/net/loop/alarms.h"
#include "server/net/loop/event_loop.h"
#include "server/net/sources.h"
#include "tests/unit/server/net/links/harbour.h"
#include "tests/unit/server/net/tls_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::seconds kOutcomePatience{20};

class SilentListener final : public LinkListener {
  void LinkOpened(Session&) override {}
  void LinkFailed(std::string_view) override {}
  size_t LinkReceived(Session&, std::string_view) override { return 0; }
  void LinkClosed(Session&) override {}
};

class OutgoingLinksTest : public testing::Test, public ConnectionOwner {
 protected:
  // Opens a link, whose outcome is in `outcome_` then: "opened PEER" or "failed WHY".
  void Open(const LinkTarget& target) {
    outcome_.clear();
    links_.Open(target, listener_,
                {.opened =
                     [this](boost::intrusive_ptr<Connection> connection, Peer peer) {
                       connection_ = std::move(connection);
                       outcome_ = Concat("opened ", peer.address);
                     },
                 .failed = [this](std::string_view why) { outcome_ = Concat("failed ", why); }});
    EXPECT_EQ(outcome_, "");  // never from within
  }
  LinkTarget To(int port, int64_t timeout_ms = 10'000) {
    return {.host = "127.0.0.1", .port = port, .timeout_ms = timeout_ms};
  }
  // TLS with the authority that has signed the certificate, for the name that it is for.
  LinkTarget SecuredTo(int port, int64_t timeout_ms = 10'000) {
    LinkTarget target{.host = "localhost", .port = port, .timeout_ms = timeout_ms};
    target.tls.on = true;
    target.tls.authority_file = certificate_.settings.tls_cert_file;
    return target;
  }
  // The loop, until there is an outcome; `beside` runs in each round.
  const std::string& Outcome(const std::function<void()>& beside = [] {}) {
    const auto end = std::chrono::steady_clock::now() + kOutcomePatience;
    while (outcome_.empty() && std::chrono::steady_clock::now() < end) {
      Round();
      beside();
    }
    return outcome_;
  }
  void Round() {
    pollfd ready{.fd = loop_.descriptor(), .events = POLLIN};
    ::poll(&ready, 1, 1);
    while (loop_.Round(/*may_wait=*/false)) {
    }
    while (links_.Advance()) {
    }
  }
  // The server's end of the connection, as soon as it is there.
  int Accept(Harbour& harbour) {
    const auto end = std::chrono::steady_clock::now() + kOutcomePatience;
    while (!harbour.has_waiting() && std::chrono::steady_clock::now() < end) Round();
    return harbour.has_waiting() ? harbour.Accept() : -1;
  }
  // The server's end of a handshake, a step.
  void ShakeAt(Harbour& harbour, std::unique_ptr<TlsStream>& stream) {
    if (!stream) {
      ASSERT_TRUE(context_.is_loaded() || context_.Load(certificate_.settings).empty());
      const int descriptor = harbour.Accept();
      stream = std::make_unique<TlsStream>(*context_.get(), wire_, descriptor);
    }
    stream->Shake();
  }
  std::string OutcomeWithTlsAt(Harbour& harbour) {
    std::unique_ptr<TlsStream> stream;
    std::string outcome;
    std::thread server([&] {
      for (int i = 0; i < 4; ++i) ShakeAt(harbour, stream);
    });
    outcome = Outcome();
    server.join();
    return outcome;
  }

  Poller& poller() override { return loop_.poller(); }
  void Readable(Connection&) override {}
  void Writable(Connection&) override {}

  OwnCertificate certificate_;
  TlsContext context_;
  TlsWire wire_;
  EventLoop loop_;
  Alarms alarms_{loop_};
  Sources sources_;
  SilentListener listener_;
  std::string outcome_;
  OutgoingLinks links_{
      {.poller = loop_.poller(),
       .alarms = alarms_,
       .connect = [this](int descriptor) { return new Connection(sources_, descriptor, *this); },
       .want_advance = [] {}}};
  boost::intrusive_ptr<Connection> connection_;
};

TEST_F(OutgoingLinksTest, OpensToAnAddress) {
  Harbour harbour;
  Open(To(harbour.port));
  EXPECT_EQ(Outcome(), Concat("opened 127.0.0.1:", harbour.port));
  EXPECT_EQ(&connection_->owner(), static_cast<ConnectionOwner*>(this));
  EXPECT_EQ(::send(harbour.Accept(), "hello", 5, 0), 5);
  char bytes[16];
  ssize_t got = 0;
  for (int i = 0; i < 1000 && got == 0; ++i) {
    Round();
    got = connection_->Read(bytes);
  }
  EXPECT_EQ(std::string_view(bytes, static_cast<size_t>(got)), "hello");
}

// Its addresses may begin with one that nobody listens on ([::1]).
TEST_F(OutgoingLinksTest, OpensToAName) {
  Harbour harbour;
  LinkTarget target = To(harbour.port);
  target.host = "localhost";
  Open(target);
  EXPECT_EQ(Outcome(), Concat("opened 127.0.0.1:", harbour.port));
}

TEST_F(OutgoingLinksTest, IsRefused) {
  Harbour harbour;
  harbour.Close();
  Open(To(harbour.port));
  EXPECT_EQ(Outcome(), "failed Connection refused");
}

TEST_F(OutgoingLinksTest, IsNotAnswered) {
  Harbour harbour(0);
  harbour.Fill();
  Open(To(harbour.port, 100));
  EXPECT_EQ(Outcome(), "failed Connection timed out");
}

TEST_F(OutgoingLinksTest, HasNoRoute) {
  LinkTarget target = To(1);
  target.host = "255.255.255.255";
  Open(target);
  EXPECT_THAT(Outcome(), StartsWith("failed "));
}

TEST_F(OutgoingLinksTest, FindsNoSuchName) {
  LinkTarget target = To(1);
  target.host = std::string(300, 'x');
  Open(target);
  EXPECT_THAT(Outcome(), StartsWith(Concat("failed ", target.host, ": ")));
}

TEST_F(OutgoingLinksTest, ComesFromTheAddressOfItsOption) {
  Harbour harbour;
  LinkTarget target = To(harbour.port);
  target.source_address = "127.0.0.2";
  Open(target);
  EXPECT_THAT(Outcome(), StartsWith("opened "));
  sockaddr_in peer = {};
  socklen_t size = sizeof peer;
  ::getpeername(harbour.Accept(), reinterpret_cast<sockaddr*>(&peer), &size);
  EXPECT_EQ(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK + 1));
}

// As Redis, which tries without.
TEST_F(OutgoingLinksTest, ComesFromAnywhereIfThatIsNotItsOwn) {
  Harbour harbour;
  LinkTarget target = To(harbour.port);
  target.source_address = "192.0.2.1";
  Open(target);
  EXPECT_THAT(Outcome(), StartsWith("opened "));
}

TEST_F(OutgoingLinksTest, OneThatIsGivenUpIsClosed) {
  Harbour harbour;
  Open(SecuredTo(harbour.port));
  const int accepted = Accept(harbour);
  links_.GiveUp(listener_);
  char bytes[4096];
  ssize_t got;
  while ((got = ::recv(accepted, bytes, sizeof bytes, 0)) > 0) {
  }
  EXPECT_EQ(got, 0);
  for (int i = 0; i < 10; ++i) Round();
  EXPECT_EQ(outcome_, "");
}

// The next one of the same listener is not mistaken for it.
TEST_F(OutgoingLinksTest, AnotherMayFollowOneThatIsGivenUp) {
  Harbour first, second;
  LinkTarget by_name = To(first.port);
  by_name.host = "localhost";
  Open(by_name);
  links_.GiveUp(listener_);
  Open(To(second.port));
  EXPECT_EQ(Outcome(), Concat("opened 127.0.0.1:", second.port));
}

// --- TLS

TEST_F(OutgoingLinksTest, OpensWithTls) {
  Harbour harbour;
  Open(SecuredTo(harbour.port));
  EXPECT_EQ(OutcomeWithTlsAt(harbour), Concat("opened 127.0.0.1:", harbour.port));
  EXPECT_NE(connection_->tls(), nullptr);
}

TEST_F(OutgoingLinksTest, ACertificateForAnotherNameIsRefusedUnlessAnyWillDo) {
  Harbour harbour;
  LinkTarget target = SecuredTo(harbour.port);
  target.host = "127.0.0.1";
  Open(target);
  EXPECT_THAT(OutcomeWithTlsAt(harbour),
              StartsWith("failed the TLS handshake failed: certificate verify failed ("));
  target.tls.any_name = true;
  Open(target);
  EXPECT_THAT(OutcomeWithTlsAt(harbour), StartsWith("opened "));
}

TEST_F(OutgoingLinksTest, AStrangersCertificateIsRefused) {
  Harbour harbour;
  LinkTarget target = SecuredTo(harbour.port);
  target.tls.authority_file.clear();
  target.tls.any_name = true;
  Open(target);
  EXPECT_EQ(OutcomeWithTlsAt(harbour),
            "failed the TLS handshake failed: certificate verify failed (self-signed certificate)");
}

TEST_F(OutgoingLinksTest, APeerWithoutTlsIsFoundOut) {
  Harbour harbour;
  Open(SecuredTo(harbour.port));
  ASSERT_EQ(::send(Accept(harbour), "-ERR unknown command\r\n", 22, 0), 22);
  EXPECT_EQ(Outcome(), "failed the TLS handshake failed: wrong version number");
}

TEST_F(OutgoingLinksTest, APeerMayCloseInTheMidstOfTls) {
  Harbour harbour;
  Open(SecuredTo(harbour.port));
  ::shutdown(Accept(harbour), SHUT_WR);
  EXPECT_THAT(Outcome(), StartsWith("failed the TLS handshake failed: "));
}

TEST_F(OutgoingLinksTest, APeerMayHangInTheMidstOfTls) {
  Harbour harbour;
  Open(SecuredTo(harbour.port, 200));
  const int accepted = Accept(harbour);
  ASSERT_EQ(::send(accepted, "\x16\x03\x03\x00\x7a\x02\x00", 7, 0), 7);
  EXPECT_EQ(Outcome(), "failed the TLS handshake took longer than 200 ms");
}

TEST_F(OutgoingLinksTest, FilesThatCannotBeReadAreNamed) {
  LinkTarget target = SecuredTo(1);
  target.tls.authority_file = "/nowhere/authority.crt";
  Open(target);
  EXPECT_THAT(Outcome(), HasSubstr("failed /nowhere/authority.crt: holds no authorities"));
}

}  // namespace
}  // namespace sluice
