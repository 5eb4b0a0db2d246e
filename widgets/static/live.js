// Builds the tree that Python drew, and sends intents back. Nothing is decided here.
//
// A node is a text, or [tag, {attribute: value}, ...children]. Only known tags and attributes are built; a text becomes
// a text node, so nothing that a user wrote can become an element or run. What the attributes mean: widgets/parts.py.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "circle", "path", "g", "title"]);
const TAGS = new Set([
  ...DRAWN,
  "b", "br", "button", "code", "details", "div", "fieldset", "h2", "h3", "input", "label", "legend", "li", "ol", "option",
  "p", "pre", "section", "select", "span", "summary", "table", "tbody", "td", "textarea", "th", "thead", "tr", "ul",
]);
const ATTRIBUTES = new Set([
  "autocomplete", "checked", "class", "colspan", "cx", "cy", "d", "fill", "for", "height", "id", "inputmode", "name", "open",
  "r", "role", "rows", "scope", "selected", "spellcheck", "start", "stroke", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "stroke-width", "tabindex", "title", "type", "value", "viewBox", "width",
]);
const SETTLE = 200; // ms after the last key before a change is sent
const PATIENCE = 800; // ms before a click that nobody heard is explained

let views = 0;

function allowed(name) {
  return ATTRIBUTES.has(name) || name.startsWith("data-wb-") || name.startsWith("aria-");
}

// -- drawing: the elements that are there are kept where they fit ------------------------------------------------------

function make(node, prefix) {
  const tag = TAGS.has(node[0]) ? node[0] : "span";
  const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  fit(element, node, prefix);
  return element;
}

function fit(element, node, prefix) {
  const given = node[1] || {};
  const fresh = !element.wbMade || element.getAttribute("data-wb-rev") !== (given["data-wb-rev"] ?? null);
  for (const name of [...element.getAttributeNames()])
    if (!(name in given) && !(name === "open" && element.tagName === "DETAILS")) element.removeAttribute(name);
  for (const [name, value] of Object.entries(given)) {
    if (!allowed(name)) continue;
    if (name === "open" && element.wbMade) continue; // a reader opens and closes it
    const own = ["id", "for", "name", "aria-describedby", "aria-labelledby"].includes(name) ? prefix + value : value;
    if (element.getAttribute(name) !== own) element.setAttribute(name, own);
  }
  children(element, node.slice(2), prefix);
  if (fresh) show(element, node);
  element.wbMade = true;
}

function show(element, node) {
  const given = node[1] || {};
  if (element.tagName === "TEXTAREA") element.value = node.slice(2).join("");
  else if (element.tagName === "SELECT") {
    const chosen = node.slice(2).find((option) => option[1] && "selected" in option[1]);
    element.value = chosen ? chosen[1].value : "";
  } else if (element.tagName === "INPUT") {
    if (given.type === "radio") element.checked = "checked" in given;
    else element.value = given.value ?? "";
  }
}

function children(parent, nodes, prefix) {
  if (parent.tagName === "TEXTAREA") return; // its text is its value
  const keyed = new Map();
  for (const child of parent.children) if (child.dataset?.wbKey) keyed.set(child.dataset.wbKey, child);
  let at = parent.firstChild;
  for (const node of nodes) {
    if (typeof node === "string") {
      if (at && at.nodeType === Node.TEXT_NODE) {
        if (at.data !== node) at.data = node;
        at = at.nextSibling;
      } else parent.insertBefore(document.createTextNode(node), at);
      continue;
    }
    const key = node[1]?.["data-wb-key"];
    let found = key === undefined ? at : keyed.get(key);
    const fits = found && found.nodeType === Node.ELEMENT_NODE && found.localName === node[0];
    if (!fits || (key === undefined && found.dataset?.wbKey)) found = null;
    if (!found) parent.insertBefore(make(node, prefix), at);
    else {
      if (found === at) at = at.nextSibling;
      else parent.insertBefore(found, at);
      fit(found, node, prefix);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// -- intents -----------------------------------------------------------------------------------------------------------

function typed(scope, prefix) {
  const found = {};
  if (!scope) return found;
  for (const control of scope.querySelectorAll("input[name], select[name], textarea[name]"))
    if (control.type !== "radio" || control.checked) found[control.name.slice(prefix.length)] = control.value;
  return found;
}

function render({ model, el }) {
  const prefix = `wb${++views}-`;
  const root = document.createElement("div");
  root.className = `wb wb-live wb-${model.get("name")}`;
  const body = document.createElement("div");
  const waiting = document.createElement("div");
  waiting.className = "wb-patience small quiet";
  waiting.setAttribute("role", "status");
  root.append(body, waiting);
  el.append(root);

  let sent = model.get("heard");
  let clicked = 0; // the number of the press that is not yet answered
  let patience, settle, focused;
  const since = new Map();

  function send(control, form) {
    sent = Math.max(sent, model.get("heard")) + 1;
    let given = {};
    try {
      given = JSON.parse(control.dataset.wbWith || "{}");
    } catch {}
    const name = control.dataset.wbDo || control.dataset.wbLive;
    model.send({ n: sent, do: name, with: given, form });
    clearTimeout(patience);
    patience = setTimeout(() => {
      waiting.textContent = "The kernel is busy. It will answer this click when it can.";
    }, PATIENCE);
    return sent;
  }

  function press(control) {
    if (control.getAttribute("aria-disabled") === "true" || clicked > model.get("heard")) return;
    clearTimeout(settle);
    clicked = send(control, typed(control.closest("[data-wb-form]"), prefix));
  }

  function heard() {
    if (model.get("heard") < sent) return;
    clearTimeout(patience);
    waiting.textContent = "";
  }

  function draw() {
    const had = root.contains(document.activeElement);
    children(body, model.get("view"), prefix);
    for (const element of body.querySelectorAll("[data-wb-since]"))
      if (!since.has(element.dataset.wbSince)) since.set(element.dataset.wbSince, performance.now());
    count();
    const wants = body.querySelector("[data-wb-focus]");
    if (wants && wants.dataset.wbFocus !== focused && had) wants.focus({ preventScroll: true });
    else if (had && !root.contains(document.activeElement))
      body.querySelector("[data-wb-home]")?.focus({ preventScroll: true });
    focused = wants?.dataset.wbFocus;
  }

  function count() {
    for (const element of body.querySelectorAll("[data-wb-since]")) {
      const time = (performance.now() - since.get(element.dataset.wbSince)) / 1000;
      element.textContent = time < 0.3 ? "" : `${time.toFixed(1)} s`;
    }
  }

  function onClick(event) {
    const control = event.target.closest("button[data-wb-do]");
    if (control && body.contains(control)) press(control);
  }

  function onChange(event) {
    if (event.target.dataset.wbDo) press(event.target);
    else onInput(event);
  }

  function onInput(event) {
    const scope = event.target.closest("[data-wb-live]");
    if (!scope || event.target.dataset.wbDo) return;
    clearTimeout(settle);
    settle = setTimeout(() => send(scope, typed(scope, prefix)), SETTLE);
  }

  function onKey(event) {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!plain || event.key === "Tab") return;
    event.stopPropagation(); // the notebook has single keys of its own
    const scope = event.target.closest("[data-wb-form]");
    if (event.key === "Enter" && event.target.tagName === "INPUT" && event.target.type !== "radio") {
      const control = scope?.querySelector("[data-wb-default]");
      if (control) press(control);
      event.preventDefault();
    } else if (event.key === "Escape") {
      const control = scope?.querySelector("[data-wb-esc]");
      if (control) press(control);
    } else if (event.target.dataset.wbItem !== undefined) walk(event);
  }

  function walk(event) {
    const items = [...event.target.closest("[data-wb-list]").querySelectorAll("[data-wb-item]")];
    const at = items.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 };
    if (!(event.key in to)) return;
    event.preventDefault();
    items[Math.min(Math.max(to[event.key], 0), items.length - 1)].focus();
  }

  root.addEventListener("click", onClick);
  root.addEventListener("change", onChange);
  root.addEventListener("input", onInput);
  root.addEventListener("keydown", onKey);
  model.on("change:view", draw);
  model.on("change:heard", heard);
  const clock = setInterval(count, 100);
  draw();
  return () => {
    clearInterval(clock);
    clearTimeout(patience);
    clearTimeout(settle);
    model.off("change:view", draw);
    model.off("change:heard", heard);
  };
}

export default { render };
