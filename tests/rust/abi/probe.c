/* Prints what a C compiler makes of dlpack.h, one fact a line: kind, name, number.
 * tests/rust/abi.rs compares each with the Rust side. */

#include <dlpack/dlpack.h>
#include <stdio.h>

#define CONSTANT(name) printf("constant %s %lld\n", #name, (long long)(name))
#define TYPE(type)                                              \
  printf("size %s %zu\n", #type, sizeof(type));                 \
  printf("align %s %zu\n", #type, _Alignof(type))
#define FIELD(type, field)                                          \
  printf("offset %s.%s %zu\n", #type, #field, offsetof(type, field)); \
  printf("width %s.%s %zu\n", #type, #field, sizeof(((type*)0)->field))

/* Functions with the signatures that ffi.rs writes out. An assignment below
 * does not compile (-Werror) where the header has another one. */
static void set_error(void* error_ctx, const char* kind, const char* message) {
  (void)error_ctx, (void)kind, (void)message;
}
static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                    void (*SetError)(void*, const char*, const char*)) {
  return (void)prototype, (void)out, (void)error_ctx, SetError == set_error;
}
static int from_object(void* py_object, DLManagedTensorVersioned** out) {
  return (void)py_object, (void)out, 0;
}
static int borrow(void* py_object, DLTensor* out) { return (void)py_object, (void)out, 0; }
static int stream(DLDeviceType device_type, int32_t device_id, void** out_current_stream) {
  return (void)device_type, (void)device_id, (void)out_current_stream, 0;
}
static int to_object(DLManagedTensorVersioned* tensor, void** out_py_object) {
  return (void)tensor, (void)out_py_object, 0;
}
static void delete_legacy(struct DLManagedTensor* self) { (void)self; }
static void delete_versioned(struct DLManagedTensorVersioned* self) { (void)self; }

int main(void) {
  DLPackExchangeAPI api;
  api.managed_tensor_allocator = allocate;
  api.managed_tensor_from_py_object_no_sync = from_object;
  api.managed_tensor_to_py_object_no_sync = to_object;
  api.dltensor_from_py_object_no_sync = borrow;
  api.current_work_stream = stream;
  DLManagedTensor legacy;
  legacy.deleter = delete_legacy;
  DLManagedTensorVersioned versioned;
  versioned.deleter = delete_versioned;
  (void)api, (void)legacy, (void)versioned;

  CONSTANT(DLPACK_MAJOR_VERSION);
  CONSTANT(DLPACK_MINOR_VERSION);
  CONSTANT(DLPACK_FLAG_BITMASK_READ_ONLY);
  CONSTANT(DLPACK_FLAG_BITMASK_IS_COPIED);
  CONSTANT(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

  CONSTANT(kDLCPU);
  CONSTANT(kDLCUDA);
  CONSTANT(kDLCUDAHost);
  CONSTANT(kDLOpenCL);
  CONSTANT(kDLVulkan);
  CONSTANT(kDLMetal);
  CONSTANT(kDLVPI);
  CONSTANT(kDLROCM);
  CONSTANT(kDLROCMHost);
  CONSTANT(kDLExtDev);
  CONSTANT(kDLCUDAManaged);
  CONSTANT(kDLOneAPI);
  CONSTANT(kDLWebGPU);
  CONSTANT(kDLHexagon);
  CONSTANT(kDLMAIA);
  CONSTANT(kDLTrn);

  CONSTANT(kDLInt);
  CONSTANT(kDLUInt);
  CONSTANT(kDLFloat);
  CONSTANT(kDLOpaqueHandle);
  CONSTANT(kDLBfloat);
  CONSTANT(kDLComplex);
  CONSTANT(kDLBool);
  CONSTANT(kDLFloat8_e3m4);
  CONSTANT(kDLFloat8_e4m3);
  CONSTANT(kDLFloat8_e4m3b11fnuz);
  CONSTANT(kDLFloat8_e4m3fn);
  CONSTANT(kDLFloat8_e4m3fnuz);
  CONSTANT(kDLFloat8_e5m2);
  CONSTANT(kDLFloat8_e5m2fnuz);
  CONSTANT(kDLFloat8_e8m0fnu);
  CONSTANT(kDLFloat6_e2m3fn);
  CONSTANT(kDLFloat6_e3m2fn);
  CONSTANT(kDLFloat4_e2m1fn);

  TYPE(DLPackVersion);
  FIELD(DLPackVersion, major);
  FIELD(DLPackVersion, minor);

  TYPE(DLDeviceType);
  TYPE(DLDevice);
  FIELD(DLDevice, device_type);
  FIELD(DLDevice, device_id);

  TYPE(DLDataType);
  FIELD(DLDataType, code);
  FIELD(DLDataType, bits);
  FIELD(DLDataType, lanes);

  TYPE(DLTensor);
  FIELD(DLTensor, data);
  FIELD(DLTensor, device);
  FIELD(DLTensor, ndim);
  FIELD(DLTensor, dtype);
  FIELD(DLTensor, shape);
  FIELD(DLTensor, strides);
  FIELD(DLTensor, byte_offset);

  TYPE(DLManagedTensor);
  FIELD(DLManagedTensor, dl_tensor);
  FIELD(DLManagedTensor, manager_ctx);
  FIELD(DLManagedTensor, deleter);

  TYPE(DLManagedTensorVersioned);
  FIELD(DLManagedTensorVersioned, version);
  FIELD(DLManagedTensorVersioned, manager_ctx);
  FIELD(DLManagedTensorVersioned, deleter);
  FIELD(DLManagedTensorVersioned, flags);
  FIELD(DLManagedTensorVersioned, dl_tensor);

  TYPE(DLPackManagedTensorAllocator);
  TYPE(DLPackManagedTensorFromPyObjectNoSync);
  TYPE(DLPackDLTensorFromPyObjectNoSync);
  TYPE(DLPackCurrentWorkStream);
  TYPE(DLPackManagedTensorToPyObjectNoSync);

  TYPE(DLPackExchangeAPIHeader);
  FIELD(DLPackExchangeAPIHeader, version);
  FIELD(DLPackExchangeAPIHeader, prev_api);

  TYPE(DLPackExchangeAPI);
  FIELD(DLPackExchangeAPI, header);
  FIELD(DLPackExchangeAPI, managed_tensor_allocator);
  FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
  FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, current_work_stream);
  return 0;
}
