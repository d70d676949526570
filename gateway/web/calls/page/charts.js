/** Lines and bars over hours, drawn as SVG; each says its figures to who points at it. */

import { make } from "/console/dom.js";

const WIDTH = 720;
const NARROW = matchMedia("(max-width: 560px)").matches; // texts are larger in a picture that is drawn smaller
const HEIGHT = NARROW ? 280 : 190;
const LEFT = NARROW ? 78 : 46;
const BOTTOM = NARROW ? 36 : 22;
const TOP = NARROW ? 14 : 8;

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function round(most) {
  const size = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 2, 2.5, 5, 10].map((step) => step * size).find((step) => step >= most) || most;
}

const hourOf = (name) => new Date(`${name}:00:00Z`);

function hourLabel(name, long) {
  const at = hourOf(name);
  return long ? at.toLocaleDateString([], { weekday: "short", day: "numeric" }) : at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** Draw a chart: `series` are lines, or bars that are stacked; `text` says a figure. */
export function chart({ title, hours, series, bars = false, text }) {
  const stack = hours.map((_, at) => series.reduce((sum, one) => sum + (one.values[at] || 0), 0));
  const most = round(Math.max(0.001, ...(bars ? stack : series.flatMap((one) => one.values.map((value) => value || 0)))));
  const wide = (WIDTH - LEFT - 6) / hours.length;
  const x = (at) => LEFT + wide * at;
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const drawn = [];
  for (const part of [0, 0.5, 1]) {
    drawn.push(svg("line", { x1: LEFT, x2: WIDTH, y1: y(most * part), y2: y(most * part), class: "grid" }));
    drawn.push(svg("text", { x: LEFT - 6, y: y(most * part) + 4, class: "tick end" }, text(most * part)));
  }
  const long = hours.length > 48;
  hours.forEach((name, at) => {
    const local = hourOf(name).getHours();
    if (long ? local === 0 : local % (NARROW ? 6 : 4) === 0) drawn.push(svg("text", { x: x(at) + 1, y: HEIGHT - (NARROW ? 9 : 5), class: "tick" }, hourLabel(name, long)));
  });
  if (bars) drawn.push(...columns(hours, series, x, y, wide));
  else drawn.push(...curves(hours, series, x, y, wide));
  const said = make("p", { class: "small readout", "aria-hidden": "true", text: "" });
  const cursor = svg("rect", { class: "cursor", y: TOP, height: HEIGHT - TOP - BOTTOM, width: Math.max(1, wide), x: -WIDTH });
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": `${title}, by hour. ${spoken(series, hours, text)}` }, cursor, ...drawn);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = Math.floor((((event.clientX - box.left) / box.width) * WIDTH - LEFT) / wide);
    if (at < 0 || at >= hours.length) return;
    cursor.setAttribute("x", x(at));
    const values = series.filter((one) => one.values[at] !== null).map((one) => `${one.name} ${text(one.values[at])}`);
    said.textContent = `${hourOf(hours[at]).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" })}: ${values.join(" · ") || "nothing"}`;
  });
  return make("section", { class: "card" }, make("h2", { text: title }),
    make("ul", { class: "legend" }, series.map((one) => make("li", {}, make("i", { class: one.colour }), one.name))), picture, said);
}

function spoken(series, hours, text) {
  return series
    .map((one) => {
      const values = one.values.filter((value) => value !== null);
      return values.length ? `${one.name}: ${text(Math.min(...values))} to ${text(Math.max(...values))}` : `${one.name}: nothing`;
    })
    .join("; ");
}

function columns(hours, series, x, y, wide) {
  const found = [];
  hours.forEach((_, at) => {
    let under = 0;
    for (const one of series) {
      const value = one.values[at] || 0;
      if (value <= 0) continue;
      found.push(svg("rect", { x: x(at) + wide * 0.12, width: Math.max(1, wide * 0.76), y: y(under + value), height: Math.max(0.5, y(under) - y(under + value)), class: `fill ${one.colour}` }));
      under += value;
    }
  });
  return found;
}

function curves(hours, series, x, y, wide) {
  return series.map((one) => {
    let path = "";
    let open = false;
    one.values.forEach((value, at) => {
      if (value === null) open = false;
      else {
        // An hour alone is a short line, so that it can be seen.
        path += open ? `L${x(at) + wide / 2} ${y(value)}` : `M${x(at) + wide / 2 - 2} ${y(value)}L${x(at) + wide / 2} ${y(value)}`;
        open = true;
      }
    });
    return svg("path", { d: path || "M0 0", class: `curve ${one.colour}` });
  });
}
