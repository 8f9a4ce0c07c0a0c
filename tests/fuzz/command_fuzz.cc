// Command sequences by the million: random requests of several clients made from the command table
// (request_maker.h), on an engine without sockets, with an audit of all its state every few steps.
//
//   command_fuzz                       for a minute, from a new seed
//   command_fuzz --seconds 3600        for an hour
//   command_fuzz --commands 10000000   until so many commands have run
//   command_fuzz --seed 7 --runs 1     the run that a failure names
//   command_fuzz --double              in a space of a test double, with its own commands
//   command_fuzz --wire                damaged pipelines, cut anywhere, in place of requests;
//     --connections 1000000            until so many of them have been there
//   command_fuzz --play PATH...        sequences that were kept, or a folder of them
//
// A run is a new server and some hundred steps; its seed says all. Runs are played in a process of
// their own: one that crashes, fails an audit, answers what is not RESP or does not end is played
// again with less and less in it, and what is left is printed and kept as a file.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "server/observe/statistics.h"
#include "tests/fuzz/request_maker.h"
#include "tests/fuzz/sequence.h"
#include "tests/support/command_line.h"
#include "tests/support/sanitized.h"

// Memory of the process, ASan's own included, is bounded: a request that asks for gigabytes is
// found. Only ASan calls this.
extern "C" const char* __asan_default_options() {
  return "hard_rss_limit_mb=3000:detect_leaks=1:abort_on_error=0:quarantine_size_mb=64";
}

namespace sluice {
namespace {

constexpr int64_t kStepsPerRun = 400;
constexpr int kStepsPerAudit = 25;
constexpr uint64_t kRunsPerProcess = 200;
constexpr int kRunSecondsMax = kSanitized ? 120 : 30;  // of CPU
constexpr rlim_t kAddressBytesMax = rlim_t{2} << 30;   // without ASan, which takes terabytes
constexpr int kFaultCode = 3;                          // a fault was found and printed
constexpr size_t kPieceBytesMax = 300;

struct Options {
  uint64_t seed = 0;
  double seconds = 60;
  uint64_t runs = UINT64_MAX;
  uint64_t commands = UINT64_MAX;
  uint64_t connections = UINT64_MAX;
  bool test_double = false;
  bool wire = false;
  std::vector<std::string> files;  // --play
};

// What a process that plays runs leaves behind, even if it crashes.
struct Progress {
  uint64_t run = 0;
  uint64_t commands = 0;
  uint64_t connections = 0;
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

[[noreturn]] void TooLong(int) {
  constexpr char kText[] = "fuzz: the run does not end\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kFaultCode);
}

// Each run has so much CPU time.
void StartAlarm(int seconds) {
  std::signal(SIGPROF, TooLong);
  const itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// --- making a run

class Run {
 public:
  Run(RequestMaker& maker, uint64_t seed, const Options& options)
      : maker_(maker), wire_(options.wire), player_(options.test_double) {
    maker_.Begin(seed);
    player_.on_reply = [this](const Reply& reply) { maker_.Learn(reply); };
  }

  // The fault, or empty.
  std::string Go() {
    const int64_t steps = maker_.Between(1, kStepsPerRun);
    for (int64_t step = 0; step < steps && !player_.over(); ++step) {
      for (const Step& made : Make()) {
        if (player_.over()) break;
        if (on_step) on_step(made);
        player_.Play(made);
      }
      if (step % kStepsPerAudit == 0 && !player_.over()) player_.Audit();
    }
    if (!player_.over()) player_.Audit();
    player_.Finish();
    return player_.fault();
  }
  std::function<void(const Step&)> on_step;  // told before it is played
  uint64_t commands() { return player_.commands(); }
  uint64_t connections() { return player_.server().engine().statistics().connections; }

 private:
  std::vector<Step> Make() {
    const auto client = static_cast<size_t>(maker_.Between(0, Player::kClientsMax - 1));
    const int64_t roll = maker_.Between(0, 999);
    using Kind = Step::Kind;
    if (roll < 25) return {{.kind = Kind::kTime, .amount = maker_.Between(0, 60)}};
    if (roll < 30) return {{.kind = Kind::kTime, .amount = maker_.Between(500, 5000)}};
    if (roll < 33) return {{.kind = Kind::kJump, .amount = maker_.Between(1, 100'000'000)}};
    if (roll < 36) return {{.kind = Kind::kWall, .amount = maker_.Between(-5000, 5000)}};
    if (roll < 37) return {{.kind = Kind::kSlow, .amount = maker_.Between(0, 200'000)}};
    if (roll < 41) return {{.kind = Kind::kDrop, .client = client}};
    if (roll < 44) return {{.kind = Kind::kStop, .client = client}};
    if (roll < 52) return {{.kind = Kind::kRead, .client = client}};
    return wire_ ? Wire(client) : Pipeline(client);
  }

  // Requests one by one or several at once.
  std::vector<Step> Pipeline(size_t client) {
    std::vector<Step> steps;
    for (int64_t left = maker_.Between(1, 6); left > 0; --left) {
      for (FuzzRequest& request : maker_.Make()) {
        const auto kind = maker_.Chance(70) ? Step::Kind::kHeldRequest : Step::Kind::kRequest;
        steps.push_back({.kind = kind, .client = client, .words = std::move(request)});
      }
    }
    steps.back().kind = Step::Kind::kRequest;
    return steps;
  }

  // A whole connection: damaged requests in pieces, then its end.
  std::vector<Step> Wire(size_t client) {
    std::string bytes;
    for (int64_t left = maker_.Between(1, 8); left > 0; --left) {
      for (const FuzzRequest& request : maker_.Make()) bytes += EncodeRequest(request);
    }
    for (int64_t left = maker_.Between(0, 6); left > 0 && !bytes.empty(); --left) Damage(bytes);
    std::vector<Step> steps;
    while (!bytes.empty()) {
      const auto most = static_cast<int64_t>(std::min(bytes.size(), kPieceBytesMax));
      const auto piece = static_cast<size_t>(maker_.Chance(60) ? static_cast<int64_t>(bytes.size())
                                                               : maker_.Between(1, most));
      steps.push_back(
          {.kind = Step::Kind::kBytes, .client = client, .words = {bytes.substr(0, piece)}});
      bytes.erase(0, piece);
    }
    steps.push_back({.kind = Step::Kind::kDrop, .client = client});
    return steps;
  }

  void Damage(std::string& bytes) {
    const auto place = [&] {
      return static_cast<size_t>(maker_.Between(0, static_cast<int64_t>(bytes.size()) - 1));
    };
    const size_t at = place();
    const size_t run =
        std::min<size_t>(static_cast<size_t>(maker_.Between(1, 30)), bytes.size() - at);
    constexpr std::string_view kPieces[] = {"\r\n",
                                            "*",
                                            "$",
                                            "$-1\r\n",
                                            "*-1\r\n",
                                            "*0\r\n",
                                            "$0\r\n\r\n",
                                            "*1000000\r\n",
                                            "$536870912\r\n",
                                            "\r",
                                            "\n",
                                            "PING\r\n",
                                            "\"",
                                            "'",
                                            "*2147483648\r\n",
                                            "$ 1\r\n",
                                            "*3\r\n$"};
    switch (maker_.Between(0, 6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << maker_.Between(0, 7)));
        break;
      case 1:
        bytes[at] = static_cast<char>(maker_.Between(0, 255));
        break;
      case 2:
        bytes.erase(at, run);
        break;
      case 3:
        bytes.insert(place(), bytes.substr(at, run));
        break;
      case 4:
        bytes.insert(at, kPieces[maker_.Between(0, std::size(kPieces) - 1)]);
        break;
      case 5:
        bytes[at] = static_cast<char>('0' + maker_.Between(0, 9));
        break;
      default:
        bytes.resize(at);
    }
  }

  RequestMaker& maker_;
  bool wire_;
  Player player_;
};

// --- playing in a process of its own

// The wait status of a child that does `work`; quiet: what it prints is not seen.
int InChild(bool quiet, const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (quiet) {
      (void)!std::freopen("/dev/null", "w", stderr);
      (void)!std::freopen("/dev/null", "w", stdout);
    }
    const rlimit core{0, 0}, address{kAddressBytesMax, kAddressBytesMax};
    setrlimit(RLIMIT_CORE, &core);
    if (!kSanitized) setrlimit(RLIMIT_AS, &address);
    std::exit(work());  // by exit: leaks are looked for
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// With an audit after each step.
std::string FaultOf(const Sequence& sequence, bool test_double) {
  Player player(test_double);
  for (const Step& step : sequence) {
    player.Play(step);
    if (!player.over()) player.Audit();
    if (player.over()) break;
  }
  player.Finish();
  return player.fault();
}

int PlayOnce(const Sequence& sequence, bool test_double) {
  StartAlarm(kRunSecondsMax);
  const std::string fault = FaultOf(sequence, test_double);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "fuzz: %s\n", fault.c_str());
  return kFaultCode;
}

class Fuzzer {
 public:
  Fuzzer(const Options& options, std::string program)
      : options_(options),
        program_(std::move(program)),
        table_server_({.test_double = options.test_double}),
        maker_(table_server_.engine().part<const CommandTable>()) {
    void* const shared =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress_ = new (shared) Progress();
  }

  int Hunt() {
    const double begin = Now();
    std::printf("command_fuzz%s: repeat with %s%s --seed %llu\n", flags(), program_.c_str(),
                flags(), static_cast<unsigned long long>(options_.seed));
    int status = 0;
    for (uint64_t first = 0; status == 0 && Wanted(first, begin); first = progress_->run + 1) {
      status = InChild(false, [&] { return PlayRuns(first, begin); });
    }
    const double seconds = Now() - begin;
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const double cpu = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime) + 1e-3;
    std::printf(
        "  %llu runs, %llu connections, %llu commands in %.0f s (CPU: %.0f s, %.0f commands a "
        "second)\n",
        static_cast<unsigned long long>(progress_->run + 1),
        static_cast<unsigned long long>(progress_->connections),
        static_cast<unsigned long long>(progress_->commands), seconds, cpu,
        static_cast<double>(progress_->commands) / cpu);
    return status == 0 ? 0 : Report(options_.seed + progress_->run);
  }

 private:
  const char* flags() const {
    if (options_.test_double) return options_.wire ? " --double --wire" : " --double";
    return options_.wire ? " --wire" : "";
  }

  bool Wanted(uint64_t run, double begin) const {
    return run < options_.runs && progress_->commands < options_.commands &&
           progress_->connections < options_.connections &&
           (options_.runs != UINT64_MAX || options_.commands != UINT64_MAX ||
            options_.connections != UINT64_MAX || Now() - begin < options_.seconds);
  }

  int PlayRuns(uint64_t first, double begin) {
    for (uint64_t run = first; run < first + kRunsPerProcess && Wanted(run, begin); ++run) {
      progress_->run = run;
      StartAlarm(kRunSecondsMax);
      Run one(maker_, options_.seed + run, options_);
      const std::string fault = one.Go();
      progress_->commands += one.commands();
      progress_->connections += one.connections();
      if (fault.empty()) continue;
      std::fprintf(stderr, "fuzz: %s\n", fault.c_str());
      return kFaultCode;
    }
    return 0;
  }

  // The steps of a run are known only by running it: they are written down until it ends or dies.
  Sequence StepsOf(uint64_t seed) {
    const std::string path = "command_fuzz." + std::to_string(getpid()) + ".steps";
    InChild(true, [&] {
      std::ofstream file(path);
      Run one(maker_, seed, options_);
      StartAlarm(kRunSecondsMax);
      one.on_step = [&file](const Step& step) { file << TextOf(step) << std::endl; };
      one.Go();
      return 0;
    });
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::remove(path.c_str());
    return ParseSequence(text).value_or(Sequence());
  }

  int Report(uint64_t seed) {
    std::printf("FAILED: repeat with %s%s --seed %llu --runs 1\n", program_.c_str(), flags(),
                static_cast<unsigned long long>(seed));
    const auto fails = [this](const Sequence& sequence) {
      return InChild(true, [&] { return PlayOnce(sequence, options_.test_double); }) != 0;
    };
    Sequence steps = StepsOf(seed);
    if (!fails(steps)) {
      std::printf("its %zu steps alone do not fail\n", steps.size());
      return 1;
    }
    steps = Shrunk(std::move(steps), fails);
    const std::string path = "command_fuzz." + std::to_string(seed) + ".txt";
    std::ofstream(path) << TextOf(steps);
    std::printf("the shortest that fails (%s%s --play %s):\n%s", program_.c_str(),
                options_.test_double ? " --double" : "", path.c_str(), TextOf(steps).c_str());
    InChild(false, [&] { return PlayOnce(steps, options_.test_double); });
    return 1;
  }

  Options options_;
  std::string program_;
  TestEngine table_server_;  // whose table of commands is the grammar
  RequestMaker maker_;
  Progress* progress_;
};

std::vector<std::string> FilesBelow(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& file : std::filesystem::directory_iterator(path))
      files.push_back(file.path().string());
  }
  std::ranges::sort(files);
  return files;
}

int PlayFiles(const Options& options) {
  const std::vector<std::string> files = FilesBelow(options.files);
  int failed = 0;
  for (const std::string& path : files) {
    std::ifstream file(path);
    const bool opened = file.is_open();
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::optional<Sequence> sequence = ParseSequence(text);
    const bool sound = opened && sequence.has_value();
    const int status =
        sound ? InChild(false, [&] { return PlayOnce(*sequence, options.test_double); })
              : kFaultCode;
    if (status != 0) std::printf("FAILED: %s\n", path.c_str());
    failed += status != 0;
  }
  std::printf("%zu sequences played, %d failed\n", files.size(), failed);
  return failed == 0 ? 0 : 1;
}

std::optional<Options> ReadOptions(int argc, char** argv) {
  Options options{.seed = std::random_device()() % 1'000'000'000u * 1000ull};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--double") {
      options.test_double = true;
    } else if (word == "--wire") {
      options.wire = true;
    } else if (word == "--play") {
      options.files.assign(argv + i + 1, argv + argc);
      return options;
    } else if (i + 1 < argc) {
      const uint64_t value = std::strtoull(argv[++i], nullptr, 10);
      if (word == "--seed") {
        options.seed = value;
      } else if (word == "--seconds") {
        options.seconds = static_cast<double>(value);
      } else if (word == "--runs") {
        options.runs = value;
      } else if (word == "--commands") {
        options.commands = value;
      } else if (word == "--connections") {
        options.connections = value;
      } else {
        return std::nullopt;
      }
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const auto options = sluice::ReadOptions(argc, argv);
  if (!options) {
    std::fprintf(stderr, "see the head of tests/fuzz/command_fuzz.cc\n");
    return 2;
  }
  if (!options->files.empty()) return sluice::PlayFiles(*options);
  return sluice::Fuzzer(*options, argv[0]).Hunt();
}
