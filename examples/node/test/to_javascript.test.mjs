// Tensors of Rust as typed arrays.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Worker } from 'node:worker_threads';

import { Signal, Tensor, addressOf, counts, frame, frozen, unaligned, zeros } from '../addon.mjs';
import { collectUntil, waitUntil } from './parts/helpers.mjs';

const TYPES = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

test('typed array has the address and the elements of the tensor', () => {
  const tensor = frame(2, 3);
  const { address, dims, dtype } = tensor;
  const array = tensor.flatten();
  assert.deepEqual([dims, dtype], [[2, 3], 'float32']);
  assert.deepEqual(array, Float32Array.of(0, 1, 2, 3, 4, 5));
  assert.equal(addressOf(array), address);
});

test('each dtype has its typed array', () => {
  for (const [name, type] of Object.entries(TYPES)) {
    const array = zeros(name).flatten();
    assert.equal(array.constructor, type);
    assert.equal(array.length, 6);
  }
});

test('Rust and JavaScript read what the other wrote', () => {
  const signal = new Signal(1000);
  const array = signal.tensor().toTypedArray();
  signal.fill(2);
  assert.ok(array.every((sample) => sample === 2));
  array.fill(3);
  assert.equal(signal.sum(), 3000);
});

test('garbage collection calls each deleter once', async () => {
  await collectUntil(() => counts()[0] === 0);
  const [live, deleted] = counts();
  assert.equal(live, 0);
  let arrays = Array.from({ length: 100 }, () => frame(10, 10).flatten());
  assert.deepEqual(counts(), [100, deleted]);
  // A view keeps the memory, as the array itself does.
  const view = arrays[0].subarray(99);
  arrays = null;
  assert.ok(await collectUntil(() => counts()[0] === 1));
  assert.equal(view[0], 99);
  assert.deepEqual(counts(), [1, deleted + 99]);
  (() => {
    // No reference to `view` after this.
    view[0] = 1;
  })();
});

test('all deleters of the previous test were called, none of them twice', async () => {
  assert.ok(await collectUntil(() => counts()[0] === 0));
  const before = counts();
  let rounds = 0;
  await collectUntil(() => ++rounds === 10);
  assert.deepEqual(counts(), before);
});

test('end of a worker calls its deleters', async () => {
  await collectUntil(() => counts()[0] === 0);
  const [live, deleted] = counts();
  const worker = new Worker(new URL('parts/worker.mjs', import.meta.url), { workerData: 'frames' });
  await new Promise((resolve) => worker.once('message', resolve));
  assert.deepEqual(counts(), [live + 10, deleted]);
  await worker.terminate();
  assert.ok(await waitUntil(() => counts()[0] === live));
  assert.deepEqual(counts(), [live, deleted + 10]);
});

test('rejected tensors stay in their handle, with the reason', () => {
  const cases = [
    [frozen(), TypeError, /read-only tensor.*`copy\(\)`/],
    [zeros('float16'), TypeError, /got float16/],
    [zeros('complex64'), TypeError, /got complex64/],
    [zeros('float32x4'), TypeError, /got float32x4/],
    [zeros('bool'), TypeError, /got bool/],
    [zeros('float32', true), RangeError, /row-major.*\[2, 3\].*\[1, 2\]/],
  ];
  for (const [tensor, type, message] of cases) {
    assert.throws(() => tensor.flatten(), (error) => {
      assert.equal(error.constructor, type);
      assert.match(error.message, message);
      return true;
    });
    assert.ok(tensor.dims.length > 0);
  }
  assert.throws(() => zeros('float32').toTypedArray(), RangeError);
});

test('unaligned elements are rejected', () => {
  const tensor = unaligned();
  assert.throws(() => tensor.toTypedArray(), { name: 'RangeError', message: /multiple of 4 bytes/ });
  assert.deepEqual(tensor.copy().toTypedArray(), Float32Array.of(1, 2));
});

test('copies of read-only and of transposed tensors are writable', () => {
  const array = frozen().copy().toTypedArray();
  assert.deepEqual(array, Float32Array.of(1, 2, 3));
  array[0] = 5;
  assert.equal(zeros('int16', true).copy().flatten().length, 6);
});

test('memory has one ArrayBuffer at a time', async () => {
  const signal = new Signal(16);
  let array = signal.tensor().toTypedArray();
  const second = signal.tensor();
  assert.throws(() => second.toTypedArray(), { name: 'RangeError', message: /already/ });
  assert.equal(array.length, 16);
  array = null;
  assert.ok(
    await collectUntil(() => {
      try {
        return second.toTypedArray().length === 16;
      } catch {
        return false;
      }
    }),
  );
});

test('a moved tensor is empty', () => {
  const tensor = frame(1, 1);
  tensor.flatten();
  assert.throws(() => tensor.flatten(), { name: 'TypeError', message: /moved/ });
  assert.throws(() => tensor.dims, TypeError);
});

test('a tensor without elements is an empty array', () => {
  assert.equal(frame(0, 3).flatten().length, 0);
});

test('memory of Rust is not transferred away from its deleter', async () => {
  await collectUntil(() => counts()[0] === 0);
  const [, deleted] = counts();
  (() => {
    const array = frame(2, 2).flatten();
    // Node.js ignores or rejects the transfer of external memory, by version.
    let copy = array.buffer;
    try {
      copy = structuredClone(array.buffer, { transfer: [array.buffer] });
    } catch (error) {
      assert.equal(error.name, 'DataCloneError');
    }
    assert.deepEqual(new Float32Array(copy), Float32Array.of(0, 1, 2, 3));
    assert.throws(() => Tensor.fromTypedArray(frame(2, 2).flatten()), /transfer/);
  })();
  assert.ok(await collectUntil(() => counts()[0] === 0));
  assert.equal(counts()[1], deleted + 2);
});
