/** The widget's drawings, built node by node: a page may forbid markup made of text. */

const SVG = "http://www.w3.org/2000/svg";

const shapes = {
  wave: ["M4 10v4M8 6.5v11M12 3.5v17M16 7.5v9M20 10.5v3"],
  phone: ["M6.2 3.5h2.6l1.6 4.4-2 1.5a12 12 0 0 0 6.2 6.2l1.5-2 4.4 1.6v2.6c0 1.2-1 2.2-2.2 2.1A16 16 0 0 1 4.1 5.7C4 4.5 5 3.5 6.2 3.5z"],
  leave: ["M3.2 14.6c4.9-4.8 12.7-4.8 17.6 0l-2.3 2.3-3.3-1.5v-2.3a10 10 0 0 0-6.4 0v2.3l-3.3 1.5z"],
  mic: ["M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3z", "M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3"],
  mic_off: ["M9 6a3 3 0 0 1 6 0v5M15 13.5a3 3 0 0 1-6-2.5v-1M5.5 11.5a6.5 6.5 0 0 0 10.6 5M18.5 11.5a6.4 6.4 0 0 1-.4 2.3M12 18v3M4 4l16 16"],
  send: ["M5 12h13M12.5 6l6 6-6 6"],
  keyboard: ["M5.5 6h13A2.5 2.5 0 0 1 21 8.5v7a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 15.5v-7A2.5 2.5 0 0 1 5.5 6z", "M7 10h.1M10.3 10h.1M13.7 10h.1M17 10h.1M8 14h8"],
  close: ["M6 6l12 12M18 6L6 18"],
  alert: ["M12 8v5M12 16.5v.1M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18z"],
  clock: ["M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 7v5.2l3.2 2"],
  done: ["M5 12.5l4.5 4.5L19 7.5"],
  sound: ["M4 9.5v5h3.5L12 19V5L7.5 9.5zM15.5 9a4 4 0 0 1 0 6M18.3 6.5a8 8 0 0 1 0 11"],
  copy: ["M9 8.5h9a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5H9A1.5 1.5 0 0 1 7.5 19v-9A1.5 1.5 0 0 1 9 8.5z", "M16.5 8.5V5A1.5 1.5 0 0 0 15 3.5H6A1.5 1.5 0 0 0 4.5 5v9A1.5 1.5 0 0 0 6 15.5h1.5"],
  devices: ["M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4"],
};

/** Draw one by its name. */
export function icon(name, size = 20) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true" })) {
    svg.setAttribute(key, value);
  }
  for (const d of shapes[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}
