// Tensors between a C++ program and two Rust libraries, each with an allocator
// of its own, and no Python anywhere.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libraries.h"

// --- checks ------------------------------------------------------------------

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (false)

static bool first_round = true;

static void say(const char *sentence) {
  if (first_round) std::puts(sentence);
}

// --- the program as a host of objects ------------------------------------------

// An object of this program. The consumer library uses its first fields.
struct Box : Object {
  int references = 1;
};

static int boxes = 0;
static std::string last_error;

static Object *make(void *value, void (*drop)(void *)) {
  auto *box = new Box;
  box->value = value;
  box->drop = drop;
  boxes += 1;
  return box;
}

static void release(void *object) {
  auto *box = static_cast<Box *>(static_cast<Object *>(object));
  box->references -= 1;
  if (box->references == 0) {
    box->drop(box->value);
    boxes -= 1;
    delete box;
  }
}

static void raise_error(const char *kind, const char *text) {
  last_error = std::string(kind) + ": " + text;
}

// --- the program as a producer ---------------------------------------------------

static int deleted = 0;

// A tensor whose memory C++ owns.
struct Owned {
  DLManagedTensorVersioned managed{};
  std::vector<float> numbers;
  int64_t shape[2];
  int64_t strides[2];
};

static DLManagedTensorVersioned *from_cpp(int64_t rows, int64_t columns, float number) {
  auto *owned = new Owned;
  owned->numbers.assign(static_cast<size_t>(rows * columns), number);
  owned->shape[0] = rows, owned->shape[1] = columns;
  owned->strides[0] = columns, owned->strides[1] = 1;
  owned->managed.version = {1, 3};
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = [](DLManagedTensorVersioned *self) {
    deleted += 1;
    delete static_cast<Owned *>(self->manager_ctx);
  };
  owned->managed.dl_tensor.data = owned->numbers.data();
  owned->managed.dl_tensor.device = {kDLCPU, 0};
  owned->managed.dl_tensor.ndim = 2;
  owned->managed.dl_tensor.dtype = {kDLFloat, 32, 1};
  owned->managed.dl_tensor.shape = owned->shape;
  owned->managed.dl_tensor.strides = owned->strides;
  return &owned->managed;
}

static double sum(const DLTensor &tensor) {
  double total = 0;
  const float *numbers = static_cast<const float *>(tensor.data);
  for (int64_t row = 0; row < tensor.shape[0]; ++row)
    for (int64_t column = 0; column < tensor.shape[1]; ++column)
      total += numbers[row * tensor.strides[0] + column * tensor.strides[1]];
  return total;
}

// --- exchanges -------------------------------------------------------------------

static const DLPackExchangeAPI *producer, *consumer;

// From a Rust object, through C++, into an object of this program, and back.
static void through_both_tables() {
  void *samples = producer_new(2, 3);
  DLManagedTensorVersioned *tensor = nullptr;
  CHECK(producer->managed_tensor_from_py_object_no_sync(samples, &tensor) == 0);
  CHECK(sum(tensor->dl_tensor) == 15);
  static_cast<float *>(tensor->dl_tensor.data)[5] = 50;

  void *object = nullptr;
  CHECK(consumer->managed_tensor_to_py_object_no_sync(tensor, &object) == 0);
  CHECK(boxes == 1);
  producer_free(samples);  // the tensor keeps the memory

  DLManagedTensorVersioned *again = nullptr;
  CHECK(consumer->managed_tensor_from_py_object_no_sync(object, &again) == 0);
  CHECK(sum(again->dl_tensor) == 60);
  release(object);  // the next one does so now
  CHECK(boxes == 0);
  // A deleter may be called by any thread.
  std::thread([again] { again->deleter(again); }).join();
  say("Rust object -> table -> C++ object -> table -> C++: 60");
}

// A borrowed tensor of an object.
static void views() {
  void *samples = producer_new(2, 3);
  DLTensor view;
  CHECK(producer->dltensor_from_py_object_no_sync(samples, &view) == 0);
  ptrdiff_t before = producer_live();
  for (int i = 0; i < 1000; ++i)
    CHECK(producer->dltensor_from_py_object_no_sync(samples, &view) == 0);
  CHECK(producer_live() == before);
  CHECK(view.ndim == 2 && view.shape[0] == 2 && view.shape[1] == 3);
  CHECK(view.strides[0] == 3 && view.strides[1] == 1);
  CHECK(sum(view) == 15);
  producer_free(samples);
  say("Rust object -> borrowed view: 15");
}

// Managed tensors alone, as any C interface can pass them.
static void without_a_table() {
  CHECK(consumer_sum(producer_give(3, 4)) == 66);
  CHECK(consumer_sum(from_cpp(3, 4, 2)) == 24);
  CHECK(deleted == 1);
  say("producer -> consumer, C++ -> consumer: 66, 24");
}

// Memory of the consumer's allocator, filled here.
static void allocated() {
  int64_t shape[2] = {4, 5};
  DLTensor prototype{};
  prototype.device = {kDLCPU, 0};
  prototype.ndim = 2;
  prototype.dtype = {kDLFloat, 32, 1};
  prototype.shape = shape;
  DLManagedTensorVersioned *tensor = nullptr;
  CHECK(consumer->managed_tensor_allocator(&prototype, &tensor, nullptr, nullptr) == 0);
  CHECK(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % 64 == 0);
  CHECK(sum(tensor->dl_tensor) == 0);
  for (int i = 0; i < 20; ++i) static_cast<float *>(tensor->dl_tensor.data)[i] = 1;

  // The producer's class only exports. A tensor that it rejects is still ours.
  void *object = &shape;
  CHECK(producer->managed_tensor_to_py_object_no_sync(tensor, &object) == -1);
  CHECK(object == nullptr);
  CHECK(std::string(producer_error()).find("only exports") != std::string::npos);
  CHECK(consumer_sum(tensor) == 20);
  say("consumer's allocator -> C++ -> consumer: 20");

  std::string told;
  auto set_error = [](void *context, const char *kind, const char *message) {
    *static_cast<std::string *>(context) += std::string(kind) + ": " + message;
  };
  shape[0] = -4;
  CHECK(consumer->managed_tensor_allocator(&prototype, &tensor, &told, set_error) == -1);
  CHECK(tensor == nullptr && told.find("BufferError: dimension 0") == 0);
  shape[0] = int64_t{1} << 40, shape[1] = int64_t{1} << 40;
  told.clear();
  CHECK(consumer->managed_tensor_allocator(&prototype, &tensor, &told, set_error) == -1);
  CHECK(told.find("address space") != std::string::npos);
}

// Every error has a message, and the tensor stays with its owner.
static void refusals() {
  DLManagedTensorVersioned *tensor = from_cpp(2, 2, 1);
  tensor->dl_tensor.ndim = 1;
  void *object = nullptr;
  CHECK(consumer->managed_tensor_to_py_object_no_sync(tensor, &object) == -1);
  CHECK(last_error == "ValueError: a table has two dimensions");
  CHECK(deleted == 1);
  tensor->deleter(tensor);
  CHECK(deleted == 2);

  void *stream = &object;
  CHECK(consumer->current_work_stream(kDLCPU, 0, &stream) == 0 && stream == nullptr);
  CHECK(consumer->current_work_stream(kDLCUDA, 0, &stream) == -1);
  CHECK(last_error.find("BufferError: no enabled backend") == 0);
  CHECK(producer->managed_tensor_from_py_object_no_sync(nullptr, &tensor) == -1);
  CHECK(std::string(producer_error()) == "`py_object` is NULL");
  say("refused: wrong shapes, other devices, NULL");
}

int main() {
  const Program program{make, raise_error};
  consumer_connect(&program);
  producer = producer_table(), consumer = consumer_table();
  for (const DLPackExchangeAPI *table : {producer, consumer})
    CHECK(table->header.version.major == 1 && table->header.version.minor == 3);

  std::vector<ptrdiff_t> live;
  for (int round = 0; round < 3; ++round) {
    deleted = 0;
    through_both_tables();
    views();
    without_a_table();
    allocated();
    refusals();
    first_round = false;
    live.push_back(producer_live()), live.push_back(consumer_live());
  }
  // Static data is created in the first round.
  CHECK(live[2] == live[4] && live[3] == live[5]);
  std::printf("nothing is left: %td and %td blocks after each round\n", live[4], live[5]);
}
