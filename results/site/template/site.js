"use strict";
// The filters' state is in the address, after #: a link to what is shown, which also works from a file.
const form = document.querySelector(".filters");
const selects = Array.from(form.querySelectorAll("select"));
const chapters = Array.from(document.querySelectorAll(".chapter"));
form.hidden = false;

function apply() {
  const chosen = Object.fromEntries(selects.map((select) => [select.name, select.value]));
  const fits = (element, ...names) => names.every((name) => !chosen[name] || element.dataset[name] === chosen[name]);
  let count = 0;
  for (const chapter of chapters) {
    let shown = 0;
    for (const figure of chapter.querySelectorAll("section")) {
      let rows = 0;
      for (const row of figure.querySelectorAll("[data-layout]")) {
        row.hidden = !fits(row, "layout") && !row.classList.contains("control");
        rows += fits(row, "layout");
      }
      figure.hidden = !rows || !fits(figure, "database", "scenario") || !fits(chapter, "metric");
      shown += !figure.hidden;
    }
    chapter.hidden = !shown;
    if (chosen.metric && shown) chapter.open = true;
    count += shown;
  }
  form.querySelector("output").value = count === 1 ? "1 figure" : `${count} figures`;
}

function read() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const select of selects) {
    const wanted = state.get(select.name) ?? "";
    select.value = Array.from(select.options).some((option) => option.value === wanted) ? wanted : "";
  }
  apply();
}

function write() {
  const state = new URLSearchParams(selects.filter((select) => select.value).map((select) => [select.name, select.value]));
  history.replaceState(null, "", `#${state}`);
  apply();
}

form.addEventListener("change", write);
form.addEventListener("reset", () => setTimeout(write));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", read);
read();
