#include "server/net/readiness.h"

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/detail/reactor_op.hpp>
#include <boost/version.hpp>

static_assert(BOOST_VERSION >= 107400 && BOOST_VERSION < 108400,
              "Readiness uses Asio's insides: read epoll_reactor.hpp of this version and try it");

namespace sluice {

using Reactor = boost::asio::detail::epoll_reactor;
using Operation = boost::asio::detail::reactor_op;

// The two operations of one descriptor. The reactor hands back whatever is queued when the descriptor
// is deregistered, a turn later; the last one to come back frees this.
class Readiness::Registration {
 public:
  Registration(boost::asio::io_context& io, int descriptor, ReadinessWatcher& watcher)
      : reactor_(boost::asio::use_service<Reactor>(io)),
        descriptor_(descriptor),
        watcher_(&watcher),
        read_(*this, &Registration::ReportReadable),
        write_(*this, &Registration::ReportWritable) {
    reactor_.init_task();
  }

  // False when the system has no room for another descriptor; then this is gone.
  static Registration* Start(boost::asio::io_context& io, int descriptor, ReadinessWatcher& watcher) {
    auto* registration = new Registration(io, descriptor, watcher);
    if (registration->reactor_.register_descriptor(descriptor, registration->state_) != 0) {
      registration->Leave();
      return nullptr;
    }
    ++registration->uses_;
    registration->reactor_.start_op(Reactor::read_op, descriptor, registration->state_,
                                    &registration->read_, false, false);
    return registration;
  }

  void AwaitWritable() {
    if (awaits_writable_) return;
    awaits_writable_ = true;
    ++uses_;
    reactor_.start_op(Reactor::write_op, descriptor_, state_, &write_, false, false);
  }

  void Stop() {
    watcher_ = nullptr;
    reactor_.deregister_descriptor(descriptor_, state_, true);  // closing takes it out of the set
    reactor_.cleanup_descriptor_data(state_);
    Leave();
  }

 private:
  class Op : public Operation {
   public:
    Op(Registration& registration, perform_func_type perform)
        : Operation({}, perform, &Registration::Completed), registration(registration) {}
    Registration& registration;
  };

  // The descriptor has something to read, or is broken: told, and kept in the queue.
  static Operation::status ReportReadable(Operation* base) {
    Registration& self = static_cast<Op*>(base)->registration;
    if (self.watcher_ != nullptr) self.watcher_->Readable();
    return Operation::not_done;
  }
  static Operation::status ReportWritable(Operation*) { return Operation::done; }

  // `owner` is null when the io_context goes away with the operation in it.
  static void Completed(void* owner, boost::asio::detail::operation* base,
                        const boost::system::error_code&, std::size_t) {
    auto* op = static_cast<Op*>(static_cast<Operation*>(base));
    Registration& self = op->registration;
    if (op == &self.write_) self.awaits_writable_ = false;
    const bool writable = owner != nullptr && op == &self.write_ && self.watcher_ != nullptr;
    ReadinessWatcher* const watcher = self.watcher_;
    self.Leave();
    if (writable) watcher->Writable();
  }

  void Leave() {
    if (--uses_ == 0) delete this;
  }

  Reactor& reactor_;
  const int descriptor_;
  ReadinessWatcher* watcher_;
  Reactor::per_descriptor_data state_ = nullptr;
  Op read_;
  Op write_;
  bool awaits_writable_ = false;
  int uses_ = 1;  // the Readiness, and each operation that the reactor has
};

Readiness::Readiness(boost::asio::io_context& io, int descriptor, ReadinessWatcher& watcher)
    : registration_(Registration::Start(io, descriptor, watcher)) {}

Readiness::~Readiness() { Stop(); }

void Readiness::AwaitWritable() {
  if (registration_ != nullptr) registration_->AwaitWritable();
}

void Readiness::Stop() {
  if (registration_ != nullptr) registration_->Stop();
  registration_ = nullptr;
}

}  // namespace sluice
