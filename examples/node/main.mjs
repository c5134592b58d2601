// A Rust signal is the input and the output of ONNX Runtime, zero-copy.
import ort from 'onnxruntime-node';

import { Signal, Tensor, addressOf, frame } from './addon.mjs';
import { DOUBLE } from './model.mjs';

const input = new Signal(4);
const output = new Signal(4);
const x = input.tensor().toTypedArray();
const y = output.tensor().toTypedArray();

input.fill(1.5);
console.log('Rust wrote 1.5, JavaScript reads     ', x);
x[0] = 10;
console.log('JavaScript wrote 10, Rust sums       ', input.sum());

const session = await ort.InferenceSession.create(DOUBLE);
await session.run(
  { x: new ort.Tensor('float32', x, [4]) },
  { y: new ort.Tensor('float32', y, [4]) },
);
console.log('ONNX Runtime doubled it, Rust sums   ', output.sum());

const pixels = frame(2, 3);
const { address, dims } = pixels;
const array = pixels.flatten();
console.log('A frame moved to JavaScript          ', dims, array);
console.log('at the address of the Rust vector    ', addressOf(array) === address);

const numbers = Float64Array.of(1, 2, 3);
const tensor = Tensor.fromTypedArray(numbers);
console.log('A Float64Array moved to Rust, left is', numbers.length, 'element(s)');
console.log('and another thread sums              ', await tensor.sumInPool());
