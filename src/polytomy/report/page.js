"use strict";

// The page is readable without this script, which sorts tables and turns panels into tabs.

function makeSortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];

  function keyOf(row, column) {
    const cell = row.cells[column];
    if (cell.classList.contains("number")) {
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    }
    return cell.textContent.trim() || null;
  }

  function compare(one, other) {
    return typeof one === "number" ? one - other : one.localeCompare(other, undefined, { numeric: true });
  }

  function sortBy(column, direction) {
    const keyed = original.map((row) => [keyOf(row, column), row]);
    const sign = direction === "descending" ? -1 : 1;
    const known = keyed.filter(([key]) => key !== null);
    // Rows without a value come last in either direction.
    const unknown = keyed.filter(([key]) => key === null);
    known.sort(([one], [other]) => sign * compare(one, other));
    body.append(...[...known, ...unknown].map(([, row]) => row));
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const first = head.dataset.first === "largest" ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      if (now === second) {
        body.append(...original);
        return;
      }
      const direction = now === first ? second : first;
      head.setAttribute("aria-sort", direction);
      sortBy(column, direction);
    });
  });
}

function makeTabs(group) {
  const panels = [...group.children];
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", group.dataset.label);
  const tabs = panels.map((panel) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `${panel.id}-tab`;
    tab.textContent = panel.dataset.title;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.firstElementChild.classList.add("said-by-tab");
    return tab;
  });

  function selectTab(selected) {
    tabs.forEach((tab, k) => {
      const isSelected = k === selected;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
      // The browser's search still finds a panel that is hidden this way, and shows it.
      if (isSelected) panels[k].removeAttribute("hidden");
      else panels[k].setAttribute("hidden", "until-found");
    });
  }

  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => selectTab(k));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = (steps[event.key] + tabs.length) % tabs.length;
      selectTab(next);
      tabs[next].focus();
    });
    panels[k].addEventListener("beforematch", (event) => {
      if (event.target === panels[k]) selectTab(k);
    });
    panels[k].addEventListener("show-panel", () => selectTab(k));
  });
  list.append(...tabs);
  group.prepend(list);
  selectTab(0);
}

function makeChoices(group) {
  const panels = [...group.children];
  const choose = (chosen) => panels.forEach((panel) => {
    if (panel === chosen) panel.removeAttribute("hidden");
    else panel.setAttribute("hidden", "until-found");
  });
  panels.forEach((panel) => {
    panel.addEventListener("beforematch", () => choose(panel));
    panel.addEventListener("show-panel", () => choose(panel));
  });
  choose(panels[0]);
}

// A link into a hidden panel shows it.
function show(id) {
  const target = document.getElementById(decodeURIComponent(id));
  if (!target) return;
  for (let panel = target.closest(".panel"); panel; panel = panel.parentElement.closest(".panel")) {
    panel.dispatchEvent(new Event("show-panel"));
  }
  if (target.matches("details")) target.open = true;
  const isChoice = target.parentElement.matches(".choices");
  target.scrollIntoView(isChoice ? { block: "nearest" } : {});
  if (isChoice) target.focus({ preventScroll: true });
}

function showTarget() {
  show(location.hash.slice(1));
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll(".tab-group").forEach(makeTabs);
document.querySelectorAll(".choices").forEach(makeChoices);
// In a frame of a notebook, a fragment is relative to the notebook.
addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link || location.protocol !== "about:") return;
  event.preventDefault();
  show(link.getAttribute("href").slice(1));
});
addEventListener("hashchange", showTarget);
if (location.hash) showTarget();
