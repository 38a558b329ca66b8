/* The page: strokes on a canvas, and what the network makes of them after each movement. */
import {draw, pixels} from "./drawing.js";
import {load} from "./network.js";

const PEN = 18;
const element = (id) => document.getElementById(id);
const canvas = element("drawing"), context = canvas.getContext("2d");
const seen = element("seen").getContext("2d");
const network = await load("digits");
const rows = [...Array(10).keys()].map((digit) => {
  const row = element("chances").insertRow();
  row.insertCell().textContent = digit;
  row.insertCell().innerHTML = "<meter min='0' max='1'></meter>";
  return row;
});
let strokes = [], isDown = false;

function softmax(scores) {
  const most = Math.max(...scores), powers = [...scores].map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

function show(image, chances, digit) {
  const picture = seen.createImageData(8, 8);
  image.forEach((value, k) => picture.data.set([0, 0, 0, 255 * value], 4 * k));
  seen.fillStyle = "white";
  seen.fillRect(0, 0, 8, 8);
  createImageBitmap(picture).then((bitmap) => seen.drawImage(bitmap, 0, 0));
  rows.forEach((row, k) => {
    row.className = k === digit ? "right" : "";
    row.querySelector("meter").value = chances[k];
  });
  element("digit").textContent = digit ?? "";
}

function read() {
  const image = pixels(strokes), began = performance.now();
  const [scores] = network(image);
  const milliseconds = performance.now() - began;
  const digit = strokes.length ? scores.indexOf(Math.max(...scores)) : null;
  show(image, strokes.length ? softmax(scores) : Array(10).fill(0), digit);
  element("note").textContent = `Read in ${milliseconds.toFixed(1)} ms.`;
  window.reading = {pixels: [...image], scores: [...scores], digit, milliseconds};
}

function redraw() {
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.strokeStyle = "black";
  draw(context, strokes, PEN);
  read();
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  isDown = true;
  strokes.push([[event.offsetX, event.offsetY]]);
  redraw();
});
canvas.addEventListener("pointermove", (event) => {
  if (!isDown)
    return;
  strokes.at(-1).push([event.offsetX, event.offsetY]);
  redraw();
});
for (const name of ["pointerup", "pointercancel"])
  canvas.addEventListener(name, () => { isDown = false; });
element("clear").addEventListener("click", () => {
  strokes = [];
  redraw();
});
redraw();
