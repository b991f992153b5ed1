// Fetches the page again when the controller says that something has changed, at most once a second.
"use strict";

const main = document.getElementById("main");
const state = document.getElementById("live");
let waiting = false;

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
  const response = await fetch(location.href, { credentials: "same-origin" });
  // A page that is gone says so.
  waiting = false;
  const isPage = (response.headers.get("content-type") || "").startsWith("text/html");
  if (!isPage) {
    state.textContent = "not connected: what is shown may be old";
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
  if (!waiting) {
    waiting = true;
    setTimeout(refresh, 1000);
  }
}

const changes = new EventSource("/changes");
changes.onopen = () => { state.textContent = "live"; };
changes.onerror = () => { state.textContent = "not connected: what is shown may be old"; };
changes.addEventListener("change", later);
changes.addEventListener("traffic", () => { if (main.querySelector("[data-traffic]")) later(); });
