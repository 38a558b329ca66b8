/* Saved programs in a browser: flambeau/runtime.h, built to WebAssembly, for arrays of float32.
 *
 *     import open from "./flambeau.mjs";
 *     const file = await fetch("model.program");
 *     const program = new Program(await open(), await file.arrayBuffer());
 *     const [{data, shape}] = program.run([{data: new Float32Array(64), shape: [1, 1, 8, 8]}]);
 */

const FLOAT32 = 11, SHAPE = 16, MAX_DIMS = 32, TENSOR_BYTES = SHAPE + 8 * MAX_DIMS;

export class Program {
  /** A program and its session; an Error says what is wrong with the bytes. */
  constructor(runtime, bytes) {
    this.runtime = runtime;
    const at = runtime._malloc(bytes.byteLength);       // weights stay there
    runtime.HEAPU8.set(new Uint8Array(bytes), at);
    this.program = this.#made((to) => runtime._flambeau_load_memory(at, bytes.byteLength, to));
    this.session = this.#made((to) => runtime._flambeau_session_new(this.program, to));
    this.outputs = runtime._flambeau_output_count(this.program);
  }

  /** Begin the stream of random numbers that flambeau.manual_seed(number) begins. */
  seed(number) {
    this.#check(this.runtime._flambeau_session_seed(this.session, number, 0));  // two halves
  }

  /** Run once, on `{data, shape}` of each input; the same of each output. */
  run(inputs) {
    const {runtime} = this, taken = [];
    const take = (bytes) => {
      taken.push(runtime._malloc(bytes));
      return taken.at(-1);
    };
    const tensors = take(TENSOR_BYTES * inputs.length);
    inputs.forEach(({data, shape}, k) => {
      const memory = take(data.byteLength);
      runtime.HEAPF32.set(data, memory / 4);
      this.#describe(tensors + TENSOR_BYTES * k, memory, data.byteLength, shape);
    });
    const results = take(TENSOR_BYTES * this.outputs);
    runtime.HEAPU8.fill(0, results, results + TENSOR_BYTES * this.outputs);
    try {
      this.#check(runtime._flambeau_run(this.session, tensors, inputs.length, results,
                                        this.outputs));
      return Array.from({length: this.outputs}, (_, k) => this.#read(results + TENSOR_BYTES * k));
    } finally {
      taken.forEach((memory) => runtime._free(memory));
    }
  }

  #made(call) {
    const to = this.runtime._malloc(4);
    try {
      this.#check(call(to));
      return this.runtime.HEAPU32[to / 4];
    } finally {
      this.runtime._free(to);
    }
  }

  #check(status) {
    if (status)
      throw new Error(this.runtime.UTF8ToString(this.runtime._flambeau_error_text()));
  }

  #describe(tensor, memory, bytes, shape) {
    this.runtime.HEAPU32.set([memory, bytes, FLOAT32, shape.length], tensor / 4);
    shape.forEach((size, d) => this.runtime.HEAPU32.set([size, 0], (tensor + SHAPE) / 4 + 2 * d));
  }

  #read(tensor) {
    const [memory, , dtype, ndim] = this.runtime.HEAPU32.subarray(tensor / 4);
    if (dtype !== FLOAT32)
      throw new Error("a result is not of float32");
    const first = (tensor + SHAPE) / 4;
    const shape = Array.from({length: ndim}, (_, d) => this.runtime.HEAPU32[first + 2 * d]);
    const count = shape.reduce((a, b) => a * b, 1);
    return {data: this.runtime.HEAPF32.slice(memory / 4, memory / 4 + count), shape};
  }
}
