// Fetches the page again when the controller says that something has changed, at most once a second.
"use strict";

const main = document.getElementById("main");
const state = document.getElementById("live");
let waiting = false;

async function refresh() {
  waiting = false;
  // Whoever types or selects is not disturbed.
  if (main.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) return;
  const response = await fetch(location.href, { credentials: "same-origin" });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = document.activeElement && document.activeElement.id;
  main.replaceChildren(...page.getElementById("main").childNodes);
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
}

const changes = new EventSource("/changes");
changes.onopen = () => { state.textContent = "live"; };
changes.onerror = () => { state.textContent = "not connected: what is shown may be old"; };
changes.addEventListener("change", () => {
  if (!waiting) {
    waiting = true;
    setTimeout(refresh, 1000);
  }
});
