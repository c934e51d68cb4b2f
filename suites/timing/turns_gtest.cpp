#include "harness/timing/turns.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mla::harness {
namespace {

/// Both ends; the turn is at the first.
std::array<int, 2> ends() {
  std::array<int, 2> sockets{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  EXPECT_EQ(send(sockets[1], "t", 1, 0), 1);
  return sockets;
}

TEST(Turns, AreTakenOneAfterTheOther) {
  const auto sockets = ends();
  std::mutex mutex;
  std::string order;
  const auto measure = [&](int socket, char name) {
    Turns turns(socket);
    turns.wait();
    for (int i = 0; i < 20; ++i) {
      {
        const std::lock_guard lock(mutex);
        order += name;
      }
      turns.pass();
    }
  };
  std::thread second(measure, sockets[1], 'b');
  measure(sockets[0], 'a');
  second.join();
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "ab";
  EXPECT_EQ(order, expected);
}

TEST(Turns, WhoIsLeftHasThemAll) {
  const auto sockets = ends();
  auto left = std::make_unique<Turns>(sockets[0]);
  left->wait();
  close(sockets[1]);
  for (int i = 0; i < 3; ++i) left->pass();
  std::this_thread::sleep_for(2 * Turns::kLength);
  EXPECT_FALSE(left->over()) << "there is nobody to pass it to";
}

TEST(Turns, LastAsLongAsTheyShould) {
  const auto sockets = ends();
  Turns turns(sockets[0]);
  turns.wait();
  const auto begin = std::chrono::steady_clock::now();
  while (!turns.over()) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, Turns::kLength - std::chrono::milliseconds(1));
  close(sockets[1]);
}

}  // namespace
}  // namespace mla::harness
