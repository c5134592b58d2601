// ONNX Runtime uses the memory of Rust.
import assert from 'node:assert/strict';
import test from 'node:test';

import ort from 'onnxruntime-node';

import { Signal, frame } from '../addon.mjs';
import { DOUBLE } from '../model.mjs';

const session = await ort.InferenceSession.create(DOUBLE);

test('the input of a session is memory of Rust', async () => {
  const x = new ort.Tensor('float32', frame(2, 3).flatten(), [6]);
  const { y } = await session.run({ x });
  assert.deepEqual([...y.data], [0, 2, 4, 6, 8, 10]);
});

test('the output of a session is memory of Rust', async () => {
  const [input, output] = [new Signal(1000), new Signal(1000)];
  const x = new ort.Tensor('float32', input.tensor().toTypedArray(), [1000]);
  const y = new ort.Tensor('float32', output.tensor().toTypedArray(), [1000]);
  for (const value of [1.5, 2.5]) {
    input.fill(value);
    await session.run({ x }, { y });
    assert.equal(output.sum(), 2 * value * 1000);
  }
});
