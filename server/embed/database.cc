// See database.h: handles on a DatabaseCore, each of which may outlive it.
#include "server/embed/database.h"

#include <utility>

#include "protocol/text/number_text.h"
#include "server/embed/database_impl.h"

namespace sluice {
inline namespace v1 {
namespace {

Reply Gone() { return Reply::Error("CLOSED the database is gone"); }

}  // namespace

// --- Ticket

Ticket::Ticket(Ticket&&) noexcept = default;

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Cancel();
    wait_ = std::move(other.wait_);
  }
  return *this;
}

// One with a callback lives on without its ticket.
Ticket::~Ticket() {
  if (wait_ && !wait_->on_ready) Cancel();
}

bool Ticket::ready() const {
  if (!wait_) return false;
  const std::shared_ptr<DatabaseCore> core = wait_->core.lock();
  return core ? core->Look(*wait_) : wait_->reply.has_value();
}

std::optional<Reply> Ticket::Take() {
  if (!ready()) return std::nullopt;
  return std::exchange(wait_->reply, std::nullopt);
}

void Ticket::OnReady(std::function<void(Reply)> call) {
  if (!wait_) return;
  if (const std::shared_ptr<DatabaseCore> core = wait_->core.lock())
    core->SetOnReady(wait_, std::move(call));
}

void Ticket::Cancel() {
  if (!wait_) return;
  if (const std::shared_ptr<DatabaseCore> core = wait_->core.lock()) core->Cancel(*wait_);
  wait_.reset();
}

// --- Client

Client::Client(Client&&) noexcept = default;

Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    Client gone(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

Client::~Client() {
  if (!state_) return;
  if (const std::shared_ptr<DatabaseCore> core = state_->core.lock()) core->Leave(*state_);
}

Reply Client::Run(Words words) {
  const std::shared_ptr<DatabaseCore> core = state_ ? state_->core.lock() : nullptr;
  return core ? core->Run(*state_, words) : Gone();
}

Ticket Client::Start(Words words) {
  const std::shared_ptr<DatabaseCore> core = state_ ? state_->core.lock() : nullptr;
  return core ? core->Start(state_, words) : Ticket();
}

std::optional<Reply> Client::NextPush() {
  const std::shared_ptr<DatabaseCore> core = state_ ? state_->core.lock() : nullptr;
  return core ? core->NextPush(*state_) : std::nullopt;
}

void Client::OnPush(std::function<void(const Reply&)> call) {
  const std::shared_ptr<DatabaseCore> core = state_ ? state_->core.lock() : nullptr;
  if (core) core->SetOnPush(*state_, std::move(call));
}

// --- LockGuard

LockGuard::LockGuard(LockGuard&& other) noexcept { *this = std::move(other); }

LockGuard& LockGuard::operator=(LockGuard&& other) noexcept {
  if (this == &other) return *this;
  Release();
  core_ = std::move(other.core_);
  key_ = std::move(other.key_);
  owner_ = std::move(other.owner_);
  error_ = std::move(other.error_);
  token_ = std::exchange(other.token_, 0);
  lease_ = other.lease_;
  return *this;
}

bool LockGuard::Renew(Millis lease) {
  const std::shared_ptr<DatabaseCore> core = core_.lock();
  if (token_ == 0 || !core) return false;
  const std::string lease_ms = Int64Text(lease.count());
  const std::string token = Int64Text(token_);
  const std::string_view words[] = {"LOCK.RENEW", key_, owner_, "LEASE", lease_ms, "TOKEN", token};
  const Reply reply = core->Run(*core->own(), words);
  if (!reply.is_error()) {
    lease_ = Millis(reply.integer());
    return true;
  }
  error_.assign(reply.text());
  if (reply.error_code() == "NOTHELD") token_ = 0;
  return false;
}

bool LockGuard::Release() {
  if (token_ == 0) return false;
  const std::string token = Int64Text(std::exchange(token_, 0));
  const std::shared_ptr<DatabaseCore> core = core_.lock();
  if (!core) return false;
  const std::string_view words[] = {"LOCK.RELEASE", key_, owner_, "TOKEN", token};
  const Reply reply = core->Run(*core->own(), words);
  if (reply.is_error()) error_.assign(reply.text());
  return !reply.is_error();
}

int64_t LockGuard::Detach() { return std::exchange(token_, 0); }

// --- Database

Database::Database() {
  std::string fault;
  core_ = DatabaseCore::Open({}, fault);
}

std::optional<Database> Database::Open(Options options, std::string& fault) {
  std::shared_ptr<DatabaseCore> core = DatabaseCore::Open(std::move(options), fault);
  if (!core) return std::nullopt;
  return Database(std::move(core));
}

Database::Database(Database&&) noexcept = default;

Database& Database::operator=(Database&& other) noexcept {
  if (this != &other) {
    if (core_) core_->Shut();
    core_ = std::move(other.core_);
  }
  return *this;
}

Database::~Database() {
  if (core_) core_->Shut();
}

std::string Database::Close() {
  std::string fault;
  return core_->TryShut(fault) ? fault : std::string(kBusy);
}

Reply Database::Run(Words words) { return core_->Run(*core_->own(), words); }
Ticket Database::Start(Words words) { return core_->StartTicket(words); }
Client Database::Connect() { return core_->Connect(); }
std::optional<Reply> Database::NextPush() { return core_->NextPush(*core_->own()); }
void Database::OnPush(std::function<void(const Reply&)> call) {
  core_->SetOnPush(*core_->own(), std::move(call));
}

Time Database::Now() { return core_->Now(); }
std::optional<Time> Database::NextDeadline() { return core_->NextDeadline(); }
void Database::RunUntil(Time moment) {
  const std::shared_ptr<DatabaseCore> core = core_;  // a callback may destroy this
  core->RunUntil(moment);
}

std::optional<std::string> Database::Get(std::string_view key) { return core_->Get(key); }
Verdict Database::Take(std::string_view key, const Limit& limit, int64_t cost) {
  return core_->Take(key, limit, cost, /*peek=*/false);
}
Verdict Database::Peek(std::string_view key, const Limit& limit, int64_t cost) {
  return core_->Take(key, limit, cost, /*peek=*/true);
}
LockGuard Database::Acquire(std::string_view key, std::string_view owner,
                            const LockOptions& options) {
  return core_->Acquire(key, owner, options);
}
Ticket Database::StartAcquire(std::string_view key, std::string_view owner,
                              const LockOptions& options, Millis wait) {
  return core_->StartAcquire(key, owner, options, wait);
}
LockGuard Database::Adopt(std::string_view key, std::string_view owner, const Reply& granted) {
  return core_->Adopt(key, owner, granted);
}
size_t Database::UsedMemory() { return core_->UsedMemory(); }

}  // namespace v1
}  // namespace sluice
