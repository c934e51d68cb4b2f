#include "harness/timing/turns.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace mla::harness {

Turns::~Turns() {
  close(socket_);
}

void Turns::wait() {
  char turn = 0;
  ssize_t count = 0;
  while (!alone_ && (count = read(socket_, &turn, 1)) != 1) {
    if (count < 0 && errno == EINTR) continue;
    alone_ = true;
  }
  begin_ = std::chrono::steady_clock::now();
}

bool Turns::over() const {
  return !alone_ && std::chrono::steady_clock::now() - begin_ >= kLength;
}

void Turns::pass() {
  constexpr char kTurn = 1;
  // Where the other end is closed, the wait sees it.
  (void)send(socket_, &kTurn, 1, MSG_NOSIGNAL);
  wait();
}

}  // namespace mla::harness
