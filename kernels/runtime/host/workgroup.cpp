#include "kernels/runtime/host/workgroup.hpp"

#include <sys/mman.h>

#include <boost/context/preallocated.hpp>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace mla::host {

namespace {

using boost::context::fiber;

// A lane's frames take a few KB; the rest of the stack is never touched and so occupies no memory.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 512 << 10;
#else
constexpr std::size_t kStackBytes = 128 << 10;
#endif

constexpr std::size_t kSharedAlignment = 1024;

// What the sanitizer must know when one stack is left for another.
class StackChange {
 public:
#if defined(__SANITIZE_ADDRESS__)
  static void leave(void** own, const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(own, bottom, bytes);
  }
  static void enter(void* own, const void** from_bottom, std::size_t* from_bytes) {
    __sanitizer_finish_switch_fiber(own, from_bottom, from_bytes);
  }
  // The frames in which a lane begins never return, and so leave the gaps between their variables marked.
  static void forget(void* bottom, std::size_t bytes) {
    __asan_unpoison_memory_region(bottom, bytes);
  }
#else
  static void leave(void**, const void*, std::size_t) {}
  static void enter(void*, const void**, std::size_t*) {}
  static void forget(void*, std::size_t) {}
#endif
};

// Fibres run on memory that this object's owner keeps.
struct KeptStack {
  void deallocate(boost::context::stack_context&) const {}
};

}  // namespace

// Thrown in a lane that waits for others that will not come.
struct Workgroup::Stopped {};

struct Workgroup::Stack {
  Stack() {
    void* memory =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    bottom = static_cast<std::byte*>(memory);
  }
  ~Stack() {
    StackChange::forget(bottom, kStackBytes);  // or whoever is given this memory next is told of a stack
    munmap(bottom, kStackBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::byte* bottom;
};

struct Workgroup::Lane {
  int number = -1;
  Wave* wave = nullptr;
  fiber context;
  const char* waits_for = nullptr;
  bool ended = true;
  struct Copy {
    void* destination;
    const void* source;  // null: has landed
    int bytes;
  };
  std::vector<Copy> copies;
  void* fake_stack = nullptr;  // the sanitizer's
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  std::unique_ptr<Stack> stack;
};

struct Workgroup::Wave {
  std::vector<Lane*> ready;
  std::vector<void*> operands;  // by lane of the wave
  std::vector<Lane*> met;
  const char* meeting = nullptr;
};

constinit thread_local Workgroup* Workgroup::here_ = nullptr;

Workgroup::Workgroup(const Shape& shape, const Memory& memory)
    : shape_(shape),
      memory_(memory),
      storage_(new std::byte[shape.shared_bytes + kSharedAlignment]),
      lanes_(new Lane[static_cast<std::size_t>(shape.lanes)]),
      main_(new Lane),
      waves_(static_cast<std::size_t>(shape.lanes / shape.wave_width)) {
  const auto begin = reinterpret_cast<std::uintptr_t>(storage_.get());
  shared_ = storage_.get() + (kSharedAlignment - begin % kSharedAlignment) % kSharedAlignment;
  for (int i = 0; i < shape.lanes; ++i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    lane.number = i;
    lane.wave = &waves_[static_cast<std::size_t>(i / shape.wave_width)];
    lane.stack = std::make_unique<Stack>();
    lane.stack_bottom = lane.stack->bottom;
    lane.stack_bytes = kStackBytes;
  }
  for (Wave& wave : waves_) {
    wave.operands.resize(static_cast<std::size_t>(shape.wave_width));
    wave.ready.reserve(static_cast<std::size_t>(shape.wave_width));
    wave.met.reserve(static_cast<std::size_t>(shape.wave_width));
  }
}

Workgroup::~Workgroup() = default;

std::uint32_t Workgroup::random() {
  // xorshift64*: good enough to draw lanes, and a few instructions.
  random_state_ ^= random_state_ >> 12;
  random_state_ ^= random_state_ << 25;
  random_state_ ^= random_state_ >> 27;
  return static_cast<std::uint32_t>((random_state_ * 0x2545f4914f6cdd1dULL) >> 32);
}

void Workgroup::run(int index, std::uint64_t seed, void (*body)(const void*), const void* context) {
  index_ = index;
  random_state_ = (seed + 1) * 0x9e3779b97f4a7c15ULL ^ (static_cast<std::uint64_t>(index) + 1) * 0xbf58476d1ce4e5b9ULL;
  if (random_state_ == 0) random_state_ = 1;
  body_ = body;
  context_ = context;
  failure_ = nullptr;
  stopping_ = false;
  at_barrier_.clear();
  // 0xff: a NaN in every element type but e4m3fnuz, where it is -240.
  std::memset(shared_, 0xff, shape_.shared_bytes);
  for (Wave& wave : waves_) {
    wave.ready.clear();
    wave.met.clear();
  }
  alive_ = shape_.lanes;
  for (int i = 0; i < shape_.lanes; ++i) start_lane(lanes_[static_cast<std::size_t>(i)]);
  wave_ = &waves_.front();

  Workgroup* const outer = std::exchange(here_, this);
  run_next(*main_);
  block("its lanes");
  if (failure_) stop_lanes();
  here_ = outer;
  if (failure_) std::rethrow_exception(failure_);
}

// After a failure: the lanes left behind end too, each by an exception out of where it waits. Ending their contexts
// would unwind them as well, but on stacks that the sanitizer was not told of.
void Workgroup::stop_lanes() {
  stopping_ = true;
  for (int i = 0; i < shape_.lanes; ++i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    if (!lane.ended) switch_to(*main_, lane);
  }
}

void Workgroup::start_lane(Lane& lane) {
  lane.copies.clear();
  lane.ended = false;
  lane.waits_for = nullptr;
  StackChange::forget(lane.stack->bottom, kStackBytes);
  boost::context::stack_context stack;
  stack.size = kStackBytes;
  stack.sp = lane.stack->bottom + kStackBytes;
  lane.context = fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack), KeptStack{},
                       [this, &lane](fiber&& from) {
                         arrived(std::move(from));
                         try {
                           if (!stopping_) body_(context_);
                         } catch (...) {
                           if (!failure_) failure_ = std::current_exception();
                         }
                         return finish_lane(lane);
                       });
  make_ready(lane);
}

boost::context::fiber Workgroup::finish_lane(Lane& lane) {
  lane.ended = true;
  --alive_;
  if (!failure_ && alive_ > 0 && static_cast<int>(at_barrier_.size()) == alive_) release_barrier();
  Lane* to = main_.get();
  if (!failure_ && alive_ > 0) {
    to = next();
    if (to == nullptr) {
      failure_ = std::make_exception_ptr(ExecutionError(waiting()));
      to = main_.get();
    }
  }
  previous_ = &lane;
  run_next(*to);
  StackChange::leave(nullptr, to->stack_bottom, to->stack_bytes);
  return std::move(to->context);
}

void Workgroup::run_next(Lane& lane) {
  running_ = &lane;
  number_ = lane.number;
}

// Leaves the calling lane, which somebody else has to make ready.
void Workgroup::block(const char* reason) {
  Lane* self = running_;
  self->waits_for = reason;
  Lane* to = next();
  if (to == nullptr) throw ExecutionError(waiting());
  self->waits_for = nullptr;
  if (to == self) return;
  self->waits_for = reason;
  switch_to(*self, *to);
  if (stopping_) throw Stopped();
  self->waits_for = nullptr;
}

// Returns when the caller, lane `self`, runs again.
void Workgroup::switch_to(Lane& self, Lane& to) {
  previous_ = &self;
  run_next(to);
  StackChange::leave(&self.fake_stack, to.stack_bottom, to.stack_bytes);
  arrived(std::move(to.context).resume());
}

// The first thing on a stack that was switched to.
void Workgroup::arrived(fiber from) {
  Lane* left = previous_;
  StackChange::enter(running_->fake_stack, left == main_.get() ? &left->stack_bottom : nullptr,
                     left == main_.get() ? &left->stack_bytes : nullptr);
  if (from) left->context = std::move(from);
}

void Workgroup::make_ready(Lane& lane) {
  lane.wave->ready.push_back(&lane);
}

// A ready lane, taken from the ready ones; null where there is none. Mostly of the wave at hand, whose stacks are warm;
// but waves drift apart now and then, at any point where a lane waits.
Workgroup::Lane* Workgroup::next() {
  const std::uint32_t draw = random();
  if (wave_->ready.empty() || draw % 64 == 0) {
    const auto count = static_cast<std::uint32_t>(waves_.size());
    std::uint32_t at = (draw >> 8) % count;
    for (std::uint32_t i = 0; i < count && waves_[at].ready.empty(); ++i) at = (at + 1) % count;
    wave_ = &waves_[at];
    if (wave_->ready.empty()) return nullptr;
  }
  std::vector<Lane*>& ready = wave_->ready;
  std::swap(ready[(draw >> 8) % ready.size()], ready.back());
  Lane* lane = ready.back();
  ready.pop_back();
  return lane;
}

void Workgroup::release_barrier() {
  for (Lane* lane : at_barrier_) make_ready(*lane);
  at_barrier_.clear();
}

void Workgroup::barrier() {
  at_barrier_.push_back(running_);
  if (static_cast<int>(at_barrier_.size()) == alive_) release_barrier();
  block("a barrier");
}

void Workgroup::meet_erased(const char* name, void* operands, void (*execute)(void* const*)) {
  Lane* self = running_;
  Wave& wave = *self->wave;
  if (!wave.met.empty() && std::strcmp(wave.meeting, name) != 0) {
    throw ExecutionError("lane " + std::to_string(self->number) + " is at " + name +
                         " while other lanes of its wave are at " + wave.meeting);
  }
  wave.meeting = name;
  wave.operands[static_cast<std::size_t>(self->number % shape_.wave_width)] = operands;
  if (static_cast<int>(wave.met.size()) + 1 < shape_.wave_width) {
    wave.met.push_back(self);
    block(name);
    return;
  }
  execute(wave.operands.data());
  for (Lane* lane : wave.met) make_ready(*lane);
  wave.met.clear();
}

void Workgroup::start_copy(void* destination, const void* source, int bytes) {
  memory_.check(source, static_cast<std::size_t>(bytes), Memory::Access::read);
  const bool at_once = random() % 2 == 0;
  if (at_once) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  running_->copies.push_back({destination, at_once ? nullptr : source, bytes});
}

void Workgroup::wait_copies(int pending) {
  std::vector<Lane::Copy>& copies = running_->copies;
  if (static_cast<int>(copies.size()) <= pending) return;
  const auto end = copies.end() - pending;
  for (auto copy = copies.begin(); copy != end; ++copy) {
    if (copy->source != nullptr) std::memcpy(copy->destination, copy->source, static_cast<std::size_t>(copy->bytes));
  }
  copies.erase(copies.begin(), end);
}

std::string Workgroup::waiting() const {
  std::map<std::string, int> counts;
  for (int i = 0; i < shape_.lanes; ++i) {
    const Lane& lane = lanes_[static_cast<std::size_t>(i)];
    if (!lane.ended) ++counts[lane.waits_for != nullptr ? lane.waits_for : "nothing"];
  }
  std::string text = "deadlock in workgroup " + std::to_string(index_) + ":";
  for (const auto& [reason, count] : counts) text += " " + std::to_string(count) + " lanes wait for " + reason + ";";
  text += " " + std::to_string(shape_.lanes - alive_) + " have ended";
  return text;
}

}  // namespace mla::host
