// Waiting for the garbage collector, and for threads.
import { setTimeout as sleep } from 'node:timers/promises';

/** Collects garbage until the condition holds, for at most five seconds. */
export async function collectUntil(condition) {
  const end = Date.now() + 5000;
  while (Date.now() < end) {
    globalThis.gc();
    // Node.js runs the finalizers of external memory in a later turn of the event loop.
    await sleep(5);
    if (condition()) return true;
  }
  return false;
}

/** Waits until the condition holds, for at most fifteen seconds. */
export async function waitUntil(condition) {
  const end = Date.now() + 15000;
  while (Date.now() < end) {
    if (condition()) return true;
    await sleep(5);
  }
  return false;
}
