/* A network that jit.aot(..., target="wasm32") compiled: its memory, and how it is called. */

const PAGE = 65536, ALIGNMENT = 64;

/** Load NAME.wasm and NAME.json. Resolves to a function: arrays of float32 in, arrays out. */
export async function load(name) {
  const [layout, bytes] = await Promise.all([
    fetch(`${name}.json`).then((answer) => answer.json()),
    fetch(`${name}.wasm`).then((answer) => answer.arrayBuffer()),
  ]);
  const {instance} = await WebAssembly.instantiate(bytes, {});
  return prepare(instance.exports, layout);
}

/** The same for a module that is there already. Inputs and outputs lie behind its own data. */
export function prepare(exports, layout) {
  let end = exports.__heap_base.value;
  const take = (size) => {
    const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    end = start + size;
    return start;
  };
  const inputs = layout.inputs.map((count) => take(4 * count));
  const outputs = layout.outputs.map((count) => take(4 * count));
  const arena = take(layout.arena);
  const missing = end - exports.memory.buffer.byteLength;
  if (missing > 0)
    exports.memory.grow(Math.ceil(missing / PAGE));

  const view = (start, count) => new Float32Array(exports.memory.buffer, start, count);
  return (...arrays) => {
    arrays.forEach((array, k) => {
      if (array.length !== layout.inputs[k])
        throw new RangeError(`input ${k} has ${array.length} numbers, not ${layout.inputs[k]}`);
      view(inputs[k], array.length).set(array);
    });
    if (exports[layout.run](...inputs, ...outputs, arena))
      throw new RangeError("an index into a table is outside of it");
    return outputs.map((start, k) => view(start, layout.outputs[k]).slice());
  };
}
