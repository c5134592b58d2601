// What the two Rust libraries offer, and of DLPack 1.3 what they exchange.
// With DLPack's own header on the path, that one is used.
#pragma once

#include <cstddef>
#include <cstdint>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
enum DLDeviceType : int32_t { kDLCPU = 1, kDLCUDA = 2 };
enum DLDataTypeCode { kDLInt = 0, kDLUInt = 1, kDLFloat = 2 };

struct DLPackVersion { uint32_t major, minor; };
struct DLDevice { DLDeviceType device_type; int32_t device_id; };
struct DLDataType { uint8_t code, bits; uint16_t lanes; };

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};

struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader *prev_api;
};

struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                  void *error_ctx,
                                  void (*SetError)(void *error_ctx, const char *kind,
                                                   const char *message));
  int (*managed_tensor_from_py_object_no_sync)(void *object, DLManagedTensorVersioned **out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor, void **out);
  int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out);
  int (*current_work_stream)(DLDeviceType device_type, int32_t device_id, void **out);
};
#endif

static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensorVersioned) == 80 &&
              sizeof(DLPackExchangeAPI) == 56);

// What an object of this program begins with, for the consumer.
struct Object {
  void *value;
  void (*drop)(void *value);
};

// What this program does for the consumer.
struct Program {
  Object *(*make)(void *value, void (*drop)(void *value));
  void (*raise)(const char *kind, const char *text);
};

extern "C" {
const DLPackExchangeAPI *producer_table();
void *producer_new(size_t rows, size_t columns);
void producer_free(void *object);
DLManagedTensorVersioned *producer_give(size_t rows, size_t columns);
const char *producer_error();
ptrdiff_t producer_live();

void consumer_connect(const Program *program);
const DLPackExchangeAPI *consumer_table();
double consumer_sum(DLManagedTensorVersioned *tensor);
ptrdiff_t consumer_live();
}
