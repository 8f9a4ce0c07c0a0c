// Clients of each kind, which write down what they see into the world's records. A client whose
// request is not answered in time hangs up, and does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/simulation/cluster/world.h"

namespace sluice::cluster {

// Takes locks, renews them, writes under their tokens, and gives them back or forgets them: "alone"
// has one owner, "shared" has readers too, "permits" three.
class LockClient final : public Client {
 public:
  using Client::Client;

 private:
  struct Kind {
    const char* key;
    int64_t capacity;
  };
  static const Kind kKinds[];
  struct Held {
    const Kind* kind;
    std::string owner;
    size_t attempt;  // of the records
    int64_t token;
    int64_t weight;
    int64_t until;  // as its owner believes
  };

  void Act() override;
  void Acquire();
  void Renew();
  void Release();
  void Write();
  void Read();
  std::vector<std::string> ModeOf(const Kind& kind, int64_t weight) const;
  int64_t Believed(int64_t call, int64_t lease_ms) const;
  LockAttempt& attempt() {
    return world_.records().locks[held_->kind->key].attempts[held_->attempt];
  }

  std::optional<Held> held_;
};

// SET key owner NX PX ms, and DELIFEQ.
class PlainLockClient final : public Client {
 public:
  using Client::Client;

 private:
  void Act() override;
  void Acquire();
  void Release();

  std::optional<size_t> held_;  // of the records
  std::string owner_;
};

// SET and GET of values that are written once.
class RegisterClient final : public Client {
 public:
  using Client::Client;

 private:
  void Act() override;
};

// Says anything (RandomCommand), and writes nothing down.
class AnyClient final : public Client {
 public:
  using Client::Client;

 private:
  void Act() override;
};

// LIMIT.TAKE of every algorithm.
class LimitClient final : public Client {
 public:
  using Client::Client;

 private:
  void Act() override;
};

}  // namespace sluice::cluster
