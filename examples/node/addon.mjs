// Loads the addon that cargo built, whose path is in DLPACK_NODE_ADDON.
const path = process.env.DLPACK_NODE_ADDON;
if (!path) throw new Error('DLPACK_NODE_ADDON is not set; run `cargo xtask example node`');
const loaded = { exports: {} };
process.dlopen(loaded, path);
export const { Tensor, Signal, frame, zeros, frozen, counts, watched, addressOf, unaligned } = loaded.exports;
