// See successor.h.
#include "server/net/hand_over/successor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "protocol/text/concat.h"
#include "server/net/hand_over/signs.h"

extern char** environ;

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kFirst = 3;  // of the sockets, as systemd numbers them
constexpr size_t kSocketsMax = 60;
// A process whose descriptors are closed is about to end by itself: for so long it may.
constexpr int kEndLooks = 100;
constexpr int kEndLookMs = 10;

// Variables that are this process's alone, or are told anew.
constexpr std::string_view kLeftOut[] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
                                         "WATCHDOG_PID", kHandOverVariable};

std::vector<std::string> EnvironmentFor(const std::vector<InheritedSocket>& sockets) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    if (std::ranges::find(kLeftOut, entry.substr(0, entry.find('='))) == std::end(kLeftOut))
      all.emplace_back(entry);
  }
  std::string names;
  for (const InheritedSocket& socket : sockets)
    ConcatTo(names, names.empty() ? "" : ":", socket.name);
  all.push_back(Concat("LISTEN_FDS=", sockets.size()));
  all.push_back(Concat("LISTEN_FDNAMES=", names));
  all.push_back(Concat(kHandOverVariable, '=', kFirst + sockets.size()));
  return all;
}

// As exec takes them; valid while `texts` are.
std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Copies of descriptors, above all numbers that the new process gets them under.
class Copies {
 public:
  Copies() = default;
  Copies(const Copies&) = delete;
  ~Copies() {
    for (const int copy : all_) ::close(copy);
  }
  bool Add(int descriptor, int above) {
    const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, above);
    if (copy >= 0) all_.push_back(copy);
    return copy >= 0;
  }
  const std::vector<int>& all() const { return all_; }

 private:
  std::vector<int> all_;
};

// 0 or an errno value: also of a program that cannot be run.
int Spawn(const StartedAs& as, const std::vector<int>& descriptors,
          std::vector<std::string> environment, pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  for (size_t i = 0; i < descriptors.size(); ++i)
    ::posix_spawn_file_actions_adddup2(&actions, descriptors[i], kFirst + static_cast<int>(i));
  ::posix_spawn_file_actions_addchdir_np(&actions, as.folder.c_str());
  std::vector<std::string> words = as.words;
  const int fault = ::posix_spawnp(&process, words.front().c_str(), &actions, &attributes,
                                   PointersTo(words).data(), PointersTo(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return fault;
}

std::string EndText(int status) {
  if (WIFSIGNALED(status)) return Concat("signal ", WTERMSIG(status));
  return Concat("exit status ", WEXITSTATUS(status));
}

}  // namespace

Fault Successor::Start(const StartedAs& as, const std::vector<InheritedSocket>& sockets) {
  if (sockets.size() > kSocketsMax) return "there are too many sockets to be handed over";
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return std::strerror(errno);
  const int above = kFirst + static_cast<int>(sockets.size()) + 1;
  Copies copies;
  bool is_copied = true;
  for (const InheritedSocket& socket : sockets)
    is_copied = is_copied && copies.Add(socket.descriptor, above);
  is_copied = is_copied && copies.Add(ends[1], above);
  int fault = is_copied ? 0 : errno;
  ::close(ends[1]);
  if (fault == 0) fault = Spawn(as, copies.all(), EnvironmentFor(sockets), process_);
  if (fault != 0) {
    process_ = 0;
    ::close(ends[0]);
  } else if (!pair_.Open(ends[0])) {
    fault = errno;
    End();
  }
  if (fault == 0) return {};
  return Concat(as.words.front(), ": ", std::strerror(fault));
}

Successor::Word Successor::Hear() {
  if (!running()) return Word::kNone;
  char sign = 0;
  const ssize_t got = ::recv(pair_.descriptor(), &sign, 1, MSG_DONTWAIT);
  if (got == 1) return sign == kChecked ? Word::kCanStart : Word::kHasEnded;
  has_hung_up_ = got == 0;
  const bool waits = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return waits ? Word::kNone : Word::kHasEnded;
}

Fault Successor::AwaitLoaded(std::chrono::microseconds interval,
                             const std::function<void()>& meanwhile) {
  constexpr const char* kEnded = "has ended before it had loaded";
  if (!Say(kGo)) return kEnded;
  Clock::time_point silent_since = Clock::now();
  while (Clock::now() - silent_since < kPatience) {
    pollfd one = {.fd = pair_.descriptor(), .events = POLLIN};
    const auto wait_ms = std::chrono::ceil<milliseconds>(
        interval.count() > 0 ? interval : std::chrono::microseconds(kPatience));
    const int ready = ::poll(&one, 1, static_cast<int>(wait_ms.count()));
    if (interval.count() > 0) meanwhile();
    if (ready <= 0) continue;
    char sign = 0;
    const ssize_t got = ::recv(pair_.descriptor(), &sign, 1, MSG_DONTWAIT);
    has_hung_up_ = got == 0;
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return kEnded;
    if (got == 1 && sign == kReady) return {};
    if (got == 1) silent_since = Clock::now();
  }
  return Concat("has said nothing for ", kPatience.count(), " s");
}

bool Successor::GiveWay() {
  if (!Say(kYours)) return false;
  pair_.Close();
  process_ = 0;
  return true;
}

std::string Successor::End() {
  int status = 0;
  if (const pid_t process = std::exchange(process_, 0); process > 0) {
    bool is_over = false;
    for (int i = 0; has_hung_up_ && !is_over && i < kEndLooks; ++i) {
      is_over = ::waitpid(process, &status, WNOHANG) == process;
      if (!is_over) ::poll(nullptr, 0, kEndLookMs);
    }
    if (!is_over) ::kill(process, SIGKILL);
    while (!is_over && ::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
  }
  // Only now: a living one that sees the pair of sockets end would take this server for dead.
  pair_.Close();
  has_hung_up_ = false;
  return EndText(status);
}

bool Successor::Say(char sign) { return ::send(pair_.descriptor(), &sign, 1, MSG_NOSIGNAL) == 1; }

}  // namespace sluice
