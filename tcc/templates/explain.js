"use strict";
// A thread, an access site or a statement that is pointed at stands out wherever it occurs.
const byKey = (root, name) => {
  const found = new Map();
  for (const node of root.querySelectorAll(`[data-${name}]`)) {
    const key = node.dataset[name];
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(node);
  }
  return found;
};
const switcher = (groups) => {
  let current = null;
  return (key) => {
    if (key === current || !groups.has(key)) return false;
    for (const node of groups.get(current) || []) node.classList.remove("on");
    for (const node of groups.get(key)) {
      node.classList.add("on");
      if (node.matches(".t")) node.parentNode.append(node); // above its neighbours
    }
    current = key;
    return true;
  };
};
for (const kernel of document.querySelectorAll("section.kernel")) {
  const show = switcher(byKey(kernel, "t"));
  const [x, y] = kernel.dataset.block.split(",").map(Number);
  const readout = kernel.querySelector(".readout");
  let pinned = kernel.dataset.pin;
  const select = (key) => {
    if (!show(key)) return;
    const t = Number(key);
    const place = `(${t % x}, ${Math.floor(t / x) % y}, ${Math.floor(t / (x * y))})`;
    readout.textContent = `thread ${t} at ${place}, warp ${t >> 5}, lane ${t & 31}`;
  };
  kernel.addEventListener("pointerover", (event) => {
    const over = event.target.closest(".t");
    select(over ? over.dataset.t : pinned);
  });
  kernel.addEventListener("click", (event) => {
    const over = event.target.closest(".t");
    if (over) pinned = over.dataset.t;
  });
  select(pinned);
}
for (const picture of document.querySelectorAll(".beside")) {
  const groups = byKey(picture, "site");
  const show = switcher(groups);
  show("0");
  picture.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) show(button.dataset.site);
  });
  const svg = picture.querySelector("svg");
  const offsets = picture.querySelector(".offsets").textContent.split(",").map(Number);
  const shape = picture.dataset.shape.split(",").map(Number);
  const [left, top, cell] = picture.dataset.frame.split(",").map(Number);
  const place = picture.querySelector(".place");
  const subscripts = (offset) => {
    const found = [];
    for (const extent of [...shape].reverse()) {
      found.unshift(offset % extent);
      offset = Math.floor(offset / extent);
    }
    return found.join(", ");
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const bank = Math.floor(((event.clientX - box.left) * scale - left) / cell);
    const row = Math.floor(((event.clientY - box.top) * scale - top) / cell);
    const at = Math.floor(((32 * row + bank) * 4) / Number(picture.dataset.bytes));
    if (bank < 0 || bank > 31 || row < 0 || at >= offsets.length) return;
    const what = offsets[at] < 0 ? "padding" : `${picture.dataset.name}(${subscripts(offsets[at])})`;
    place.textContent = `${what}: bank ${bank}, word ${32 * row + bank}`;
  });
}
const listing = document.querySelector(".listing");
const showStatement = switcher(byKey(listing, "s"));
listing.addEventListener("pointerover", (event) => {
  const line = event.target.closest(".s");
  if (line) showStatement(line.dataset.s);
});
const emitted = listing.querySelector(".emitted");
const scrollTo = (key) => {
  const first = emitted.querySelector(`.s[data-s="${key}"]`);
  if (first) emitted.scrollTop = first.offsetTop - 120;
};
listing.addEventListener("click", (event) => {
  const line = event.target.closest(".source .s");
  if (line) scrollTo(line.dataset.s);
});
showStatement("0");
scrollTo("0");
document.documentElement.dataset.ready = "yes";
