// What a worker thread does, by the name in its data.
import { parentPort, workerData } from 'node:worker_threads';

import { Tensor, frame } from '../../addon.mjs';

if (workerData === 'frames') {
  globalThis.kept = Array.from({ length: 10 }, () => frame(10, 10).flatten());
  parentPort.postMessage('created');
} else if (workerData === 'watch') {
  const numbers = new Float64Array(1 << 16).fill(1);
  Tensor.fromTypedArray(numbers).watch(1500);
  // The environment ends also with a tensor whose owner is an object of JavaScript.
  globalThis.kept = Tensor.fromTypedArray(new Float64Array(8));
  parentPort.postMessage('watching');
}
setInterval(() => {}, 1000);
