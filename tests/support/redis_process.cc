// See redis_process.h.
#include "tests/support/redis_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "tests/support/command_line.h"

namespace sluice {
namespace {

// How often a starting server is tried: nothing tells when it listens.
constexpr int kTryEveryMs = 2;

// In the child: becomes the server, which dies with its parent.
[[noreturn]] void Become(const std::vector<std::string>& words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  _exit(127);
}

}  // namespace

std::unique_ptr<RedisClient> RedisClient::Connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return nullptr;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<RedisClient>(new RedisClient(descriptor));
}

RedisClient::~RedisClient() { close(descriptor_); }

bool RedisClient::SendBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RedisClient::Send(const std::vector<std::string>& arguments) {
  return SendBytes(EncodeRequest(arguments));
}

std::optional<Reply> RedisClient::Next(int timeout_ms) {
  while (true) {
    ReplyReader reader;
    std::optional<Reply> reply = reader.Read(received_);
    if (reply) received_.erase(0, reader.consumed());
    if (reply || reader.failed()) return reply;
    pollfd waiting{descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, timeout_ms) <= 0) return std::nullopt;
    char buffer[64 * 1024];
    const ssize_t got = recv(descriptor_, buffer, sizeof(buffer), 0);
    if (got <= 0) return std::nullopt;
    received_.append(buffer, static_cast<size_t>(got));
  }
}

std::optional<Reply> RedisClient::Run(const std::vector<std::string>& arguments) {
  if (!Send(arguments)) return std::nullopt;
  return Next();
}

RedisProcess::RedisProcess(const std::vector<std::string>& options) {
  char pattern[] = "/tmp/sluice-oracle-XXXXXX";
  if (!mkdtemp(pattern)) return;
  folder_ = pattern;
  std::vector<std::string> words = {
      kProgram,        "--port", "0", "--unixsocket",           socket_path(), "--dir",
      folder_,         "--save", "",  "--enable-debug-command", "yes",         "--logfile",
      folder_ + "/log"};
  words.insert(words.end(), options.begin(), options.end());
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) Become(words, parent);
  for (int waited_ms = 0; process_ > 0 && waited_ms < kStartMs; waited_ms += kTryEveryMs) {
    std::unique_ptr<RedisClient> client = Connect();
    const std::optional<Reply> answer = client ? client->Run({"PING"}) : std::nullopt;
    if (answer && !answer->ToText().starts_with("-LOADING")) {
      running_ = true;
      return;
    }
    if (waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
    poll(nullptr, 0, kTryEveryMs);
  }
}

RedisProcess::~RedisProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace sluice
