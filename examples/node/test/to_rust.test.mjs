// Typed arrays as tensors of Rust.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Worker } from 'node:worker_threads';

import { Tensor, addressOf, watched } from '../addon.mjs';
import { collectUntil, waitUntil } from './parts/helpers.mjs';

const take = (array, dims) => Tensor.fromTypedArray(array, dims);

test('memory moves to Rust, and the array becomes empty', () => {
  const array = Float64Array.of(1, 2, 3, 4, 5, 6);
  const address = addressOf(array);
  const tensor = take(array, [2, 3]);
  assert.deepEqual([tensor.dtype, tensor.dims, tensor.sum()], ['float64', [2, 3], 21]);
  assert.equal(tensor.address, address);
  assert.deepEqual([array.length, array.buffer.byteLength], [0, 0]);
});

test('part of a buffer keeps its offset', () => {
  const whole = Int32Array.of(1, 2, 3, 4);
  const tensor = take(whole.subarray(1, 3));
  assert.equal(tensor.sum(), 5);
  assert.equal(whole.length, 0);
});

test('each typed array has its dtype', () => {
  const arrays = [
    [new Int8Array(1), 'int8'],
    [new Uint8Array(1), 'uint8'],
    [new Uint8ClampedArray(1), 'uint8'],
    [new Int16Array(1), 'int16'],
    [new Uint16Array(1), 'uint16'],
    [new Int32Array(1), 'int32'],
    [new Uint32Array(1), 'uint32'],
    [new Float32Array(1), 'float32'],
    [new Float64Array(1), 'float64'],
    [new BigInt64Array(1), 'int64'],
    [new BigUint64Array(1), 'uint64'],
  ];
  for (const [array, dtype] of arrays) assert.equal(take(array).dtype, dtype);
});

test('other memory is rejected, and stays', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const pooled = Buffer.from('abcd');
  const cases = [
    [new Float32Array(new SharedArrayBuffer(8)), TypeError, /SharedArrayBuffer/],
    [new Uint8Array(memory.buffer), TypeError, /transfer/],
    [pooled, TypeError, /transfer/],
    [new DataView(new ArrayBuffer(8)), TypeError, /typed array/],
    [new ArrayBuffer(8), TypeError, /typed array/],
    [[1, 2], TypeError, /typed array/],
    [undefined, TypeError, /typed array/],
    [new Float32Array(0), RangeError, /empty or detached/],
  ];
  for (const [value, type, message] of cases) {
    assert.throws(() => take(value), (error) => {
      assert.equal(error.constructor, type, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
  assert.equal(memory.buffer.byteLength, 65536);
  assert.equal(pooled.toString(), 'abcd');
  const detached = new Float32Array(2);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assert.throws(() => take(detached), RangeError);
});

test('dimensions are checked before the memory moves', () => {
  const array = new Float32Array(6);
  for (const dims of [[2, 2], [-2, -3], [7], Array(65).fill(1), [2 ** 62, 4]]) {
    assert.throws(() => take(array, dims.concat(dims.length === 65 ? [6] : [])), RangeError);
  }
  assert.equal(array.length, 6);
  assert.deepEqual(take(array, [1, 6]).dims, [1, 6]);
});

test('a resizable buffer cannot be resized after it moved', () => {
  const buffer = new ArrayBuffer(16, { maxByteLength: 64 });
  const tensor = take(new Float32Array(buffer).fill(1));
  assert.throws(() => buffer.resize(0), TypeError);
  assert.equal(tensor.sum(), 4);
});

test('a deleter on another thread releases the memory on the thread of JavaScript', async () => {
  const bytes = 64 << 20;
  const used = () => process.memoryUsage().arrayBuffers;
  globalThis.gc();
  const before = used();
  const tensor = take(new Float64Array(bytes / 8).fill(1));
  assert.ok(used() >= before + bytes / 2);
  // The tensor keeps the memory.
  let rounds = 0;
  await collectUntil(() => ++rounds === 10);
  assert.ok(used() >= before + bytes / 2);
  assert.equal(await tensor.sumInPool(), bytes / 8);
  assert.ok(await collectUntil(() => used() < before + bytes / 2));
});

test('`release` and garbage collection release the memory', async () => {
  const bytes = 64 << 20;
  const used = () => process.memoryUsage().arrayBuffers;
  globalThis.gc();
  const before = used();
  const tensor = take(new Uint8Array(bytes));
  tensor.release();
  assert.throws(() => tensor.sum(), TypeError);
  assert.ok(await collectUntil(() => used() < before + bytes / 2));
  (() => take(new Uint8Array(bytes)))();
  assert.ok(await collectUntil(() => used() < before + bytes / 2));
});

test('the end of a worker waits for threads that read its memory', async () => {
  const count = watched();
  const worker = new Worker(new URL('parts/worker.mjs', import.meta.url), { workerData: 'watch' });
  await new Promise((resolve) => worker.once('message', resolve));
  const start = performance.now();
  await worker.terminate();
  // The thread reads for 1.5 s.
  assert.ok(performance.now() - start > 1000);
  // All its sums were equal.
  assert.ok(await waitUntil(() => watched() === count + 1));
});

test('memory of JavaScript is not shown by a second ArrayBuffer', () => {
  const tensor = take(Float32Array.of(1, 2));
  assert.throws(() => tensor.toTypedArray(), { name: 'RangeError', message: /already/ });
  assert.deepEqual(tensor.copy().toTypedArray(), Float32Array.of(1, 2));
});
