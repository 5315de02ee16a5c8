// Theme, keyboard, copy and live updates. Everything else is HTML.
(() => {
  const root = document.documentElement;
  const chosen = () => localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = chosen();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { root.dataset.theme = chosen(); });

  const $ = (selector, from = document) => from.querySelector(selector);
  const typing = (element) => element && element.matches("input, textarea, select, [contenteditable]");

  const boxes = () => [...document.querySelectorAll("#main tbody input[type=checkbox]")];
  const count = () => {
    const words = $("[data-chosen]");
    const number = boxes().filter((box) => box.checked).length;
    if (words) words.textContent = number ? `With the ${number} selected:` : "With the selected:";
  };

  document.addEventListener("click", (event) => {
    const hit = (selector) => event.target.closest(selector);
    if (hit("[data-theme-toggle]")) {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem("theme", root.dataset.theme);
    } else if (hit("[data-palette]")) openPalette();
    else if (hit("[data-help]")) $("#keys").showModal();
    else if (hit("[data-pause]")) pause();
    else if (hit("pre.copy")) {
      const box = hit("pre.copy");
      navigator.clipboard?.writeText(box.innerText.trim()).then(() => {
        box.classList.add("done");
        setTimeout(() => box.classList.remove("done"), 1200);
      });
    } else if (hit("[data-all]")) {
      const on = hit("[data-all]").checked;
      boxes().forEach((box) => { box.checked = on; });
      count();
    } else if (hit("#main tbody input[type=checkbox]")) count();
  });

  // Rows: j and k move, Enter opens, x selects.
  const rows = () => [...document.querySelectorAll("#main [data-row]")];
  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const now = all.findIndex((row) => row.classList.contains("at"));
    const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + step))];
    all.forEach((row) => row.classList.toggle("at", row === next));
    next.scrollIntoView({ block: "nearest" });
    ($("a", next) || next).focus({ preventScroll: true });
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog[open]")) return;
    const at = $("#main [data-row].at");
    const keys = {
      "/": () => $("#main input[type=search]")?.focus(),
      "?": () => $("#keys").showModal(),
      j: () => move(1),
      k: () => move(-1),
      x: () => { const box = at && $("input[type=checkbox]", at); if (box) { box.checked = !box.checked; count(); } },
      p: () => $("[data-pause]") && pause(),
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  // The palette: pages by name, and a search of memories for what was typed.
  const openPalette = () => {
    const dialog = $("#palette");
    if (!dialog || dialog.open) return;
    const input = $("input", dialog);
    const list = $("ul", dialog);
    const pages = [...document.querySelectorAll("#side li a")].map((a) => [a.textContent, a.getAttribute("href")]);
    let found = [];
    let place = 0;
    const draw = () => {
      const words = input.value.trim().toLowerCase();
      const begins = ([name]) => name.toLowerCase().startsWith(words);
      found = pages.filter(([name]) => name.toLowerCase().includes(words)).sort((a, b) => begins(b) - begins(a));
      if (words) found.push([`Search memories for “${input.value.trim()}”`, `/memories?q=${encodeURIComponent(input.value.trim())}`]);
      place = Math.min(place, found.length - 1);
      list.replaceChildren(...found.map(([name, href], index) => {
        const line = document.createElement("li");
        line.textContent = name;
        line.setAttribute("aria-selected", index === place);
        line.addEventListener("click", () => go(href));
        return line;
      }));
    };
    const go = (href) => { dialog.close(); location.assign(href); };
    input.value = "";
    input.oninput = () => { place = 0; draw(); };
    input.onkeydown = (event) => {
      if (event.key === "ArrowDown") place = Math.min(found.length - 1, place + 1);
      else if (event.key === "ArrowUp") place = Math.max(0, place - 1);
      else if (event.key === "Enter") { event.preventDefault(); if (found[place]) go(found[place][1]); return; }
      else if (event.key === "Escape") { event.preventDefault(); dialog.close(); return; } // otherwise Escape only empties the search field
      else return;
      event.preventDefault();
      draw();
    };
    draw();
    dialog.showModal();
    input.focus();
  };

  // Live updates: a page names its topic in data-live and is fetched again when the topic changed. The event's id is the
  // version seen last, so a reconnect learns whether it missed a change.
  let source = null;
  let paused = false;
  let behind = false;
  // Never replace a page with unsent input: wait until the form is sent or as it was.
  const started = (field) => {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.options) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((one) => one.defaultSelected));
    return field.value !== field.defaultValue;
  };
  const written = () => $("#main .refused") || [...document.querySelectorAll("#main form[method=post] :is(input:not([type=hidden]), textarea, select)")].some(started);
  const refresh = () => {
    if (paused || document.hidden || typing(document.activeElement) || $("dialog[open]") || written()) { behind = true; return; }
    behind = false;
    const notice = $("#main .notice"); // the server sends a notice once: keep it until the user leaves the page
    window.htmx?.ajax("GET", location.pathname + location.search, { target: "#main", select: "#main", swap: "outerHTML" }).then(() => {
      if (notice && !$("#main .notice")) { $("#main").prepend(notice); htmx.process(notice); }
    });
  };
  const listen = () => {
    const topic = $("#main")?.dataset.live;
    if (source && source.topic === topic) return;
    source?.close();
    source = null;
    if (!topic) return;
    source = new EventSource(`/live?topic=${encodeURIComponent(topic)}`);
    source.topic = topic;
    source.addEventListener("changed", refresh);
    // Running work may have ended between loading the page and opening the stream: fetch such a page once more.
    source.addEventListener("standing", () => { if ($("#main")?.dataset.unsettled !== undefined) refresh(); });
  };
  const pause = () => {
    paused = !paused;
    show();
    if (!paused && behind) refresh();
  };
  const show = () => {
    const button = $("[data-pause]");
    if (button) { button.textContent = paused ? "Paused · resume" : "Live · pause"; button.setAttribute("aria-pressed", paused); }
  };
  document.addEventListener("visibilitychange", () => behind && refresh());
  document.addEventListener("focusout", () => behind && setTimeout(refresh, 300));
  document.addEventListener("DOMContentLoaded", () => { listen(); show(); name(); stay(); wrong(); count(); here(); });
  document.addEventListener("htmx:afterSettle", () => { listen(); show(); count(); here(); setTimeout(name, 0); setTimeout(wrong, 0); });
  // The response to a form that was posted without htmx: take the page's address, so that a reload posts nothing.
  const stay = () => { const at = $("#main")?.dataset.at; if (at) history.replaceState(null, "", at); };
  // A refused form: focus the first field with an error.
  const wrong = () => {
    const field = $("#main [aria-invalid]") || $("#main .refused[autofocus]");
    if (field && !field.dataset.shown) { field.dataset.shown = ""; field.focus(); field.scrollIntoView({ block: "center" }); }
  };
  // On a phone the navigation is one scrolling row: bring the current page's link into view.
  const here = () => { const link = $("#side [aria-current]"); const row = $("#side"); if (link && row && row.scrollWidth > row.clientWidth) row.scrollLeft = link.offsetLeft > row.clientWidth / 2 ? link.offsetLeft - 48 : 0; };
  // Mark the target of the address's #fragment: browsers do so only for pages they load themselves, not for swaps.
  const name = () => {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && place.id !== "main" && !place.classList.contains("named")) { place.classList.add("named"); place.scrollIntoView(); }
  };
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.requestConfig?.boosted) document.title = $("#main h1")?.textContent + " · Mnemon";
  });
  // On a network or server error keep the page with everything typed, and say so.
  const hitch = (words) => { const box = $("#hitch"); if (box) { box.textContent = words; box.hidden = false; } };
  document.addEventListener("htmx:sendError", () => hitch("The server does not answer. What you typed is still here; try again in a moment."));
  document.addEventListener("htmx:responseError", (event) => hitch(`The server could not do that (${event.detail.xhr.status}). What you typed is still here; try again in a moment.`));
  document.addEventListener("htmx:beforeRequest", () => { const box = $("#hitch"); if (box) box.hidden = true; });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400 && event.detail.xhr.status < 500) { event.detail.shouldSwap = true; event.detail.isError = false; }
  });
})();
