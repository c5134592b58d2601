// An ONNX model that doubles its input: `y = x + x`, for float32 of any length.
const text = new TextEncoder();

/** A field of protobuf with a length: a string, or a message of fields. */
function field(number, ...parts) {
  const bytes = parts.flatMap((part) => (typeof part === 'string' ? [...text.encode(part)] : part));
  if (bytes.length > 127) throw new RangeError('this model is too long for one-byte lengths');
  return [(number << 3) | 2, bytes.length, ...bytes];
}

/** A field of protobuf with a number below 128. */
const number = (index, value) => [index << 3, value];

function value(index, name) {
  const shape = field(2, field(1, field(2, 'n')));
  return field(index, field(1, name), field(2, field(1, number(1, 1), shape)));
}

const node = field(1, field(1, 'x'), field(1, 'x'), field(2, 'y'), field(4, 'Add'));
const graph = field(7, node, field(2, 'double'), value(11, 'x'), value(12, 'y'));
const operators = field(8, field(1, ''), number(2, 13));
export const DOUBLE = Uint8Array.from([...number(1, 8), ...graph, ...operators]);
