// Fetches the page again when the controller says that something has changed, at most once a second.
"use strict";

const main = document.getElementById("main");
const state = document.getElementById("live");
const OLD = "not connected: what is shown may be old";
let waiting = false;
// Something has changed while the page was fetched.
let isStale = false;

// Whoever types or selects something is not disturbed.
function isInUse() {
  const focused = document.activeElement;
  const selection = document.getSelection();
  const selects = selection && !selection.isCollapsed && main.contains(selection.anchorNode);
  return selects || (main.contains(focused) && focused.matches("input, textarea, select"));
}

// The place of an element among its like: it is the same after a change of texts.
function placeOf(element) {
  const all = [...main.querySelectorAll("a, button, summary")];
  return all.indexOf(element);
}

async function refresh() {
  if (isInUse()) {
    setTimeout(refresh, 1000);
    return;
  }
  try {
    await show(await fetch(location.href, { credentials: "same-origin" }));
  } catch {
    state.textContent = OLD;
  } finally {
    waiting = false;
    if (isStale) later();
  }
}

// A page that is gone says so.
async function show(response) {
  const isPage = (response.headers.get("content-type") || "").startsWith("text/html");
  if (!isPage) {
    state.textContent = OLD;
    return;
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = placeOf(document.activeElement);
  const open = [...main.querySelectorAll("details")].map((details) => details.open);
  main.replaceChildren(...page.getElementById("main").childNodes);
  main.querySelectorAll("details").forEach((details, n) => { details.open = open[n] || false; });
  const again = main.querySelectorAll("a, button, summary")[focused];
  if (again) again.focus();
}

function later() {
  isStale = waiting;
  if (!waiting) {
    waiting = true;
    setTimeout(refresh, 1000);
  }
}

const changes = new EventSource("/changes");
// Nobody has said what changed between the page and the connection, or while there was none.
changes.onopen = () => { state.textContent = "live"; later(); };
changes.onerror = () => { state.textContent = OLD; };
changes.addEventListener("change", later);
changes.addEventListener("traffic", () => { if (main.querySelector("[data-traffic]")) later(); });
