// A workgroup on the CPU: one fibre a lane, all on the calling thread.
//
// Nothing of a GPU is taken for granted that its documents do not promise. Lanes run one after the other, each until it
// waits for others; which one is next is drawn at random, from a seed. Shared memory starts as NaN. A copy from global
// to shared memory lands either at once or not before it is waited for, as chance has it. So a missing barrier or wait
// gives a wrong result, or one that differs from seed to seed.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/host/memory.hpp"

namespace mla::host {

class Workgroup {
 public:
  struct Shape {
    int lanes = 0;
    int wave_width = 0;  // divides `lanes`
    std::size_t shared_bytes = 0;
  };

  Workgroup(const Shape& shape, const Memory& memory);
  ~Workgroup();
  Workgroup(const Workgroup&) = delete;  // the lanes refer to this object
  Workgroup& operator=(const Workgroup&) = delete;

  /// Runs `body(context)` in every lane. Rethrows what a lane threw, or ExecutionError where all lanes left wait.
  void run(int index, std::uint64_t seed, void (*body)(const void* context), const void* context);

  // ---- called by the lanes ---------------------------------------------------------------------------------------

  /// The workgroup to which the calling lane belongs.
  [[nodiscard]] static Workgroup& here() { return *here_; }

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] int lane() const { return number_; }
  [[nodiscard]] std::byte* shared_memory() const { return shared_; }
  [[nodiscard]] const Memory& memory() const { return memory_; }

  /// Waits for all lanes that have not ended.
  void barrier();

  /// An operation of the whole wave. The last lane of the wave to come executes it: `execute` gets what each lane
  /// passed as `operands`, by lane. `name` must be the same in all lanes.
  template <class Operands>
  void meet(const char* name, Operands& operands, void (*execute)(void* const* operands)) {
    meet_erased(name, &operands, execute);
  }
  /// The lanes of a wave in step.
  void meet_wave(const char* name) {
    int nothing = 0;
    meet(name, nothing, [](void* const*) {});
  }

  /// Starts a copy of the calling lane, from global to shared memory.
  void start_copy(void* destination, const void* source, int bytes);
  /// Returns when at most the newest `pending` copies of the calling lane are under way.
  void wait_copies(int pending);

 private:
  struct Lane;
  struct Wave;
  struct Stack;
  struct Stopped;

  void start_lane(Lane& lane);
  [[nodiscard]] boost::context::fiber finish_lane(Lane& lane);
  void block(const char* reason);
  void switch_to(Lane& self, Lane& to);
  void stop_lanes();
  void arrived(boost::context::fiber from);
  void release_barrier();
  void run_next(Lane& lane);
  void make_ready(Lane& lane);
  Lane* next();
  void meet_erased(const char* name, void* operands, void (*execute)(void* const*));
  [[nodiscard]] std::string waiting() const;
  std::uint32_t random();

  // constinit: otherwise each use from another file first asks whether it is initialised, through what may be null.
  static constinit thread_local Workgroup* here_;

  Shape shape_;
  const Memory& memory_;
  std::unique_ptr<std::byte[]> storage_;
  std::byte* shared_ = nullptr;
  std::unique_ptr<Lane[]> lanes_;
  std::unique_ptr<Lane> main_;
  std::vector<Wave> waves_;
  std::vector<Lane*> at_barrier_;
  Lane* running_ = nullptr;
  Lane* previous_ = nullptr;
  int number_ = -1;       // of the running lane: asked for all the time
  Wave* wave_ = nullptr;  // of the lane that ran last
  int alive_ = 0;
  int index_ = 0;
  std::uint64_t random_state_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
  void (*body_)(const void*) = nullptr;
  const void* context_ = nullptr;
};

}  // namespace mla::host
