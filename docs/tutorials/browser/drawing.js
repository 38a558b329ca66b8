/* From strokes to what the network was trained on: 8 by 8 pixels between 0 and 1.
 *
 * The digits of scikit-learn were scanned, scaled to fill 32 by 32 dots, and each pixel counts the
 * dots of a square of 4 by 4 that are dark. */

const DOTS = 32, SQUARE = 4, PEN = 3.5;

/** The smallest box around all points: left, top, width, height. */
function box(strokes) {
  const xs = strokes.flat().map(([x]) => x), ys = strokes.flat().map(([, y]) => y);
  const left = Math.min(...xs), top = Math.min(...ys);
  return [left, top, Math.max(...xs) - left, Math.max(...ys) - top];
}

/** Draw strokes on a canvas; a stroke of one point is a dot. */
export function draw(context, strokes, pen, place = (point) => point) {
  context.lineWidth = pen;
  context.lineCap = context.lineJoin = "round";
  for (const stroke of strokes) {
    context.beginPath();
    context.moveTo(...place(stroke[0]));
    for (const point of stroke)
      context.lineTo(...place(point));
    context.stroke();
  }
}

/** The 64 numbers that the network reads, row by row. */
export function pixels(strokes) {
  const found = new Float32Array((DOTS / SQUARE) ** 2);
  if (!strokes.length)
    return found;
  const [left, top, width, height] = box(strokes);
  const scale = (DOTS - PEN) / Math.max(width, height, 1);
  const place = ([x, y]) => [(x - left - width / 2) * scale + DOTS / 2,
                             (y - top - height / 2) * scale + DOTS / 2];
  const context = new OffscreenCanvas(DOTS, DOTS).getContext("2d", {willReadFrequently: true});
  draw(context, strokes, PEN, place);
  const {data} = context.getImageData(0, 0, DOTS, DOTS);
  for (let y = 0; y < DOTS; y++)
    for (let x = 0; x < DOTS; x++) {
      const pixel = Math.floor(y / SQUARE) * (DOTS / SQUARE) + Math.floor(x / SQUARE);
      found[pixel] += data[4 * (y * DOTS + x) + 3] / 255 / SQUARE ** 2;
    }
  return found;
}
